import { type Signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { messageOf } from '../../api/calls.ts'
import type { Preview, ScheduleJson } from '../../api/types.ts'
import { later } from '../../state/clock.ts'
import { api, noticeRefusal } from '../../state/session.ts'
import { Notice } from '../../ui/basics.tsx'
import { Select, TextArea, TextField } from '../../ui/form.tsx'
import { Calendar } from './calendar.tsx'
import { ScheduleDiff } from './schedule-diff.tsx'
import { type Draft, type DraftType, draftTypes, newDraft, scheduleOf } from './draft.ts'
import { Occurrences } from './occurrences.tsx'

/** Typing asks the server for a preview after a rest. A question that is out of date is given up. */
const REST_MS = 300

/** Edits a schedule, with what it means while it is typed. `before` is the schedule as it is stored. */
export function ScheduleEditor({
  draft,
  before,
}: {
  readonly draft: Signal<Draft>
  readonly before?: ScheduleJson | undefined
}): JSX.Element {
  const { type, fields } = draft.value
  const { preview, error, isLoading } = usePreview(draft.value)
  return (
    <div class="editor">
      <div class="form-grid">
        <Select
          label="Schedule"
          value={type}
          options={Object.entries(draftTypes).map(([name, { title }]) => [name as DraftType, title] as const)}
          choose={(next) => (draft.value = newDraft(next, draft.value))}
        />
        {draftTypes[type].fields.map(({ name, label, hint, options }) => {
          const input = (value: string): void => {
            draft.value = { ...draft.value, fields: { ...fields, [name]: value } }
          }
          const shared = { label, value: fields[name] ?? '', ...(hint !== '' && { hint }) }
          if (options !== undefined) return <Select key={name} {...shared} options={options} choose={input} />
          if (name === 'json' || name === 'rule')
            return <TextArea key={name} {...shared} rows={name === 'json' ? 8 : 2} input={input} />
          return (
            <TextField
              key={name}
              {...shared}
              input={input}
              maxLength={1024}
              {...(name === 'zone' && { list: 'zones' })}
            />
          )
        })}
        <Zones />
      </div>
      <div class="editor-preview" aria-live="polite" aria-busy={isLoading}>
        {error !== undefined && <Notice tone="bad">{error}</Notice>}
        {preview !== undefined && error === undefined && (
          <>
            <p class="in-words">{preview.description}</p>
            {before !== undefined && <ScheduleDiff before={before} after={preview.schedule} />}
            <h3>Next occurrences</h3>
            <Occurrences occurrences={preview.occurrences} />
            <Calendar schedule={preview.schedule} />
          </>
        )}
      </div>
    </div>
  )
}

interface PreviewState {
  readonly preview: Preview | undefined
  readonly error: string | undefined
  readonly isLoading: boolean
}

function usePreview(draft: Draft): PreviewState {
  const state = useSignal<PreviewState>({ preview: undefined, error: undefined, isLoading: true })
  const current = api.value
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    const load = async (): Promise<void> => {
      state.value = { ...state.peek(), isLoading: true }
      try {
        const preview = await current.send<Preview>(
          'POST',
          '/v1/schedules/preview',
          { on: scheduleOf(draft), count: 10 },
          { signal },
        )
        if (!signal.aborted) state.value = { preview, error: undefined, isLoading: false }
      } catch (error) {
        if (signal.aborted) return
        noticeRefusal(error)
        state.value = { preview: undefined, error: messageOf(error), isLoading: false }
      }
    }
    const cancel = later(REST_MS, () => void load())
    return () => {
      cancel()
      controller.abort()
    }
  }, [draft, current])
  return state.value
}

const zoneNames = [
  'UTC',
  ...((Intl as { supportedValuesOf?: (key: string) => string[] }).supportedValuesOf?.('timeZone') ?? []),
]

function Zones(): JSX.Element {
  return (
    <datalist id="zones">
      {zoneNames.map((zone) => (
        <option key={zone} value={zone} />
      ))}
    </datalist>
  )
}
