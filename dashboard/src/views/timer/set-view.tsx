import { type Signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { messageOf, timerPath } from '../../api/calls.ts'
import { changeContent } from '../../api/composed.ts'
import { parseExactly, stringifyExactly } from '../../api/exact-json.ts'
import type { ScheduleJson, Timer } from '../../api/types.ts'
import { noticeChange } from '../../state/feed.ts'
import { say } from '../../state/messages.ts'
import { useResource } from '../../state/resource.ts'
import { route, timerHref } from '../../state/router.ts'
import { api, noticeRefusal } from '../../state/session.ts'
import { Button, Card, Choice, Heading, Loaded, Notice } from '../../ui/basics.tsx'
import { Checkbox, TextArea, TextField } from '../../ui/form.tsx'
import { WhenField, type WhenGiven, whenGiven, whenOf } from '../../ui/when-field.tsx'
import { type Draft, draftOf, newDraft, scheduleOf } from '../schedules/draft.ts'
import { ScheduleEditor } from '../schedules/schedule-editor.tsx'

type Purpose = 'new' | 'edit' | 'copy'

/** Sets a timer: a new one, a copy of one, or a change of one. */
export function SetView(): JSX.Element {
  const { query } = route.value
  const [kind, key, from] = [query.get('kind') ?? '', query.get('key') ?? '', query.get('from')]
  const purpose: Purpose = from === 'edit' || from === 'copy' ? from : 'new'
  const needsTimer = purpose !== 'new'
  const timer = useResource(
    `edit ${kind} ${key}`,
    needsTimer ? (current, signal) => current.get<Timer>(timerPath(kind, key), {}, signal) : undefined,
  )
  const title = { new: 'Set a timer', copy: 'Duplicate a timer', edit: `Edit ${key}` }[purpose]
  return (
    <>
      <Heading title={title} />
      {needsTimer ? (
        <Loaded from={timer} what="timer">
          {(data) => <SetForm purpose={purpose} timer={data} kind={kind} timerKey={key} />}
        </Loaded>
      ) : (
        <SetForm purpose="new" kind={kind} timerKey={key} isSchedule={query.get('when') === 'schedule'} />
      )}
    </>
  )
}

interface Fields {
  readonly kind: Signal<string>
  readonly key: Signal<string>
  readonly payload: Signal<string>
  readonly tags: Signal<string>
  readonly isSchedule: Signal<boolean>
  readonly replaces: Signal<boolean>
  readonly draft: Signal<Draft>
  readonly when: WhenGiven
}

function SetForm({
  purpose,
  timer,
  kind,
  timerKey,
  isSchedule = false,
}: {
  readonly purpose: Purpose
  readonly timer?: Timer
  readonly kind: string
  readonly timerKey: string
  readonly isSchedule?: boolean
}): JSX.Element {
  const fields: Fields = {
    kind: useSignal(kind),
    key: useSignal(purpose === 'copy' ? `${timerKey}-copy` : timerKey),
    payload: useSignal(timer?.payload === undefined ? '' : stringifyExactly(timer.payload)),
    tags: useSignal((timer?.tags ?? []).join(', ')),
    isSchedule: useSignal(timer?.on !== undefined || isSchedule),
    replaces: useSignal(false),
    draft: useSignal(timer?.on === undefined ? newDraft('cron') : draftOf(timer.on)),
    when: useMemo(() => whenGiven(purpose === 'edit' ? 'at' : 'in', timer?.dueAt), []),
  }
  const error = useSignal<string | undefined>(undefined)
  const isWorking = useSignal(false)
  const submit = async (): Promise<void> => {
    isWorking.value = true
    error.value = undefined
    try {
      const set =
        purpose === 'edit' && timer !== undefined ? await saveChange(timer, fields) : await setNew(fields)
      say(set.text)
      noticeChange()
      location.hash = timerHref(set.kind, set.key)
    } catch (problem) {
      noticeRefusal(problem)
      error.value = messageOf(problem)
    } finally {
      isWorking.value = false
    }
  }
  useEffect(() => {
    if (error.value !== undefined) document.querySelector('.form-error')?.scrollIntoView({ block: 'nearest' })
  }, [error.value])
  return (
    <form
      class="set-form"
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      {purpose !== 'edit' && (
        <Card title="Name">
          <div class="form-grid">
            <TextField
              label="Kind"
              value={fields.kind.value}
              input={(value) => (fields.kind.value = value)}
              required
              maxLength={128}
              list="known-kinds"
              hint="Which target or handler gets it."
            />
            <TextField
              label="Key"
              value={fields.key.value}
              input={(value) => (fields.key.value = value)}
              maxLength={512}
              hint="Its name within the kind. Empty for a generated one."
            />
            <KnownKinds />
          </div>
          <Checkbox
            label="Replace a timer with the same key"
            isChecked={fields.replaces.value}
            check={(is) => (fields.replaces.value = is)}
          />
        </Card>
      )}
      <Card
        title="When"
        actions={
          <Choice
            label="Once or on a schedule"
            value={fields.isSchedule.value ? 'schedule' : 'once'}
            options={[
              ['once', 'Once'],
              ['schedule', 'On a schedule'],
            ]}
            choose={(value) => (fields.isSchedule.value = value === 'schedule')}
          />
        }
      >
        {fields.isSchedule.value ? (
          <ScheduleEditor draft={fields.draft} before={purpose === 'edit' ? timer?.on : undefined} />
        ) : (
          <div class="form-grid narrow">
            <WhenField when={fields.when} />
          </div>
        )}
      </Card>
      <Card title="What it carries">
        <TextArea
          label="Payload"
          value={fields.payload.value}
          input={(value) => (fields.payload.value = value)}
          hint="JSON. Empty for none. Integers beyond 2^53 are rounded: write them as strings."
          error={payloadError(fields.payload.value)}
        />
        <TextField
          label="Tags"
          value={fields.tags.value}
          input={(value) => (fields.tags.value = value)}
          hint="Separated by commas, at most 16."
        />
      </Card>
      {error.value !== undefined && (
        <div class="form-error" role="alert">
          <Notice tone="bad">{error.value}</Notice>
        </div>
      )}
      <div class="actions end">
        <Button onClick={() => history.back()}>Back</Button>
        <Button type="submit" tone="main" disabled={isWorking.value}>
          {isWorking.value ? 'Saving…' : purpose === 'edit' ? 'Save' : 'Set the timer'}
        </Button>
      </div>
    </form>
  )
}

function KnownKinds(): JSX.Element {
  const { data } = useResource('kind names', (current, signal) =>
    current.get<{ kinds: readonly string[] }>('/v1/kinds', {}, signal),
  )
  return (
    <datalist id="known-kinds">
      {(data?.kinds ?? []).map((kind) => (
        <option key={kind} value={kind} />
      ))}
    </datalist>
  )
}

interface Saved {
  readonly kind: string
  readonly key: string
  readonly text: string
}

async function setNew({ kind, key, replaces, ...fields }: Fields): Promise<Saved> {
  const isGenerated = key.value.trim() === ''
  const body = {
    ...timeOf(fields),
    ...contentOf(fields),
    ...(!isGenerated && !replaces.value && { ifAbsent: true }),
  }
  const set = isGenerated
    ? await api.value.send<{ kind: string; key: string }>(
        'POST',
        `/v1/timers/${encodeURIComponent(kind.value)}`,
        body,
      )
    : await api.value.send<{ kind: string; key: string }>('PUT', timerPath(kind.value, key.value), body)
  return { kind: kind.value, key: set.key, text: `Set ${set.key}.` }
}

/** Sends only what was changed: what the form does not show, such as the retry policy, stays. */
async function saveChange(timer: Timer, fields: Fields): Promise<Saved> {
  const { kind, key, revision } = timer
  const headers = { 'if-match': `"${revision}"` }
  const content = contentOf(fields)
  const isSameContent =
    stringifyExactly(content) === stringifyExactly(contentOf({ payload: timer.payload, tags: timer.tags }))
  const saved = { kind, key, text: `Saved ${key}.` }
  if (fields.isSchedule.value) {
    const on = scheduleOf(fields.draft.value)
    const isSame = timer.on !== undefined && isSameSchedule(on, timer.on)
    if (!isSame) {
      await api.value.send('PUT', timerPath(kind, key), { on, ...content }, { headers })
      return saved
    }
  } else if (timer.on !== undefined) {
    await api.value.send('PUT', timerPath(kind, key), { ...whenOf(fields.when), ...content }, { headers })
    return saved
  }
  if (!isSameContent) await changeContent(api.value, timer, content)
  if (!fields.isSchedule.value) {
    const when = whenOf(fields.when)
    // The field shows whole seconds.
    const isSameTime = 'at' in when && Math.floor(timer.dueAt / 1000) === Math.floor(when.at / 1000)
    if (!isSameTime) await api.value.send('POST', timerPath(kind, key, '/move'), when)
  }
  return saved
}

function timeOf({ isSchedule, draft, when }: Pick<Fields, 'isSchedule' | 'draft' | 'when'>): object {
  return isSchedule.value ? { on: scheduleOf(draft.value) } : whenOf(when)
}

interface Content {
  readonly payload?: unknown
  readonly tags: readonly string[]
}

function contentOf(fields: Pick<Fields, 'payload' | 'tags'> | Content): Content {
  if (Array.isArray(fields.tags))
    return { tags: fields.tags, ...(fields.payload !== undefined && { payload: fields.payload }) }
  const { payload, tags } = fields as Pick<Fields, 'payload' | 'tags'>
  const list = tags.value
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '')
  return { tags: list, ...(payload.value.trim() !== '' && { payload: parseExactly(payload.value) }) }
}

/** The draft leaves out nothing that the stored form has, but its fields may be in another order or form. */
function isSameSchedule(on: unknown, stored: ScheduleJson): boolean {
  const before = scheduleOf(draftOf(stored))
  return stringifyExactly(on) === stringifyExactly(before)
}

function payloadError(text: string): string | undefined {
  if (text.trim() === '') return undefined
  try {
    parseExactly(text)
    return undefined
  } catch (error) {
    return `This is not JSON: ${messageOf(error)}`
  }
}
