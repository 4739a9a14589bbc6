import { type Signal, signal } from '@preact/signals'
import type { JSX } from 'preact'
import { codeOf, timerPath } from '../../api/calls.ts'
import type { Count, Job, JobAction, Timer } from '../../api/types.ts'
import { go } from '../../state/router.ts'
import { api } from '../../state/session.ts'
import { Button } from '../../ui/basics.tsx'
import { ask } from '../../ui/dialog.tsx'
import { count, plural } from '../../ui/format.ts'
import { useResource } from '../../state/resource.ts'
import { WhenField, type WhenGiven, whenGiven, whenOf } from '../../ui/when-field.tsx'
import { NoteField, noteBody } from '../timer/timer-actions.tsx'
import { conditionsOf, type Filter, filterWords } from './filter.ts'

type BulkAction = Exclude<JobAction, 'redrive' | 'discard'>

const words: Readonly<
  Record<BulkAction, { readonly title: string; readonly action: string; readonly effect: string }>
> = {
  fire: {
    title: 'Fire',
    action: 'Fire them now',
    effect: 'Their attempts start at once, as if they were due.',
  },
  move: { title: 'Move', action: 'Move them', effect: 'They get another due time and keep everything else.' },
  pause: {
    title: 'Pause',
    action: 'Pause them',
    effect: 'They keep their due time, and do not fire until somebody resumes them.',
  },
  resume: { title: 'Resume', action: 'Resume them', effect: 'Those that are due fire at once.' },
  cancel: { title: 'Cancel', action: 'Cancel them', effect: 'They never fire. This cannot be undone.' },
}

const actions: readonly BulkAction[] = ['fire', 'move', 'pause', 'resume', 'cancel']

/** What can be done to the selected timers, or to everything that the filter matches. */
export function BulkBar({
  selected,
  filter,
  isAll,
  clear,
}: {
  readonly selected: readonly Timer[]
  readonly filter: Filter
  /** Everything that the filter matches, not only what is on this page. */
  readonly isAll: boolean
  readonly clear: () => void
}): JSX.Element {
  return (
    <div class="bulk" role="group" aria-label="Change the selected timers">
      <strong>{isAll ? 'All that match the filter' : plural(selected.length, 'timer')}</strong>
      {actions.map((action) => (
        <Button
          key={action}
          tone={action === 'cancel' ? 'bad' : 'plain'}
          onClick={() => (isAll ? askAll(action, filter, clear) : askSelected(action, selected, clear))}
        >
          {words[action].title}
        </Button>
      ))}
      <Button tone="quiet" onClick={clear}>
        Clear the selection
      </Button>
    </div>
  )
}

function askSelected(action: BulkAction, timers: readonly Timer[], clear: () => void): void {
  const when = whenGiven('in')
  const note = signal('')
  const done = signal<number | undefined>(undefined)
  ask({
    title: `${words[action].title} ${plural(timers.length, 'timer')}?`,
    body: <Body action={action} when={when} note={note} done={done} total={timers.length} />,
    action: words[action].action,
    isDangerous: action === 'cancel',
    run: async () => {
      const body = bodyOf(action, when, note)
      done.value = 0
      const outcomes = await eachOf(
        timers,
        (timer) => change(action, timer, body),
        (finished) => (done.value = finished),
      )
      clear()
      return summaryOf(outcomes)
    },
  })
}

/** A job of the server: it works on after the page is closed, and every operator sees its progress. */
function askAll(action: BulkAction, filter: Filter, clear: () => void): void {
  const when = whenGiven('in')
  const note = signal('')
  ask({
    title: `${words[action].title} all timers ${filterWords(filter)}?`,
    body: (
      <>
        <CountOfFilter filter={filter} />
        <Body action={action} when={when} note={note} />
      </>
    ),
    action: words[action].action,
    isDangerous: true,
    run: async () => {
      const given = bodyOf(action, when, note)
      const filterGiven = conditionsOf(filter)
      try {
        const { id } = await api.value.send<Job>('POST', '/v1/jobs', {
          action,
          filter: filterGiven,
          ...given,
        })
        go(['jobs', id])
        return 'The job has started.'
      } catch (error) {
        if (codeOf(error) !== 'route-unknown' || action === 'pause' || action === 'resume') throw error
        const { found: _, ...outcomes } = await api.value.send<Record<string, number>>(
          'POST',
          action === 'cancel' ? '/v1/bulk/cancel' : '/v1/bulk/move',
          { filter: filterGiven, ...(action === 'fire' ? { in: 0 } : given) },
        )
        return summaryOf(new Map(Object.entries(outcomes)))
      } finally {
        clear()
      }
    },
  })
}

function CountOfFilter({ filter }: { readonly filter: Filter }): JSX.Element {
  const conditions = conditionsOf(filter)
  const counted = useResource(`count ${JSON.stringify(conditions)}`, (current, abort) =>
    current.get<Count>('/v1/timers/count', { ...conditions, atMost: 100_000 }, abort),
  )
  if (counted.data === undefined)
    return <p role="status">{counted.error === undefined ? 'Counting…' : 'They could not be counted.'}</p>
  const { count: found, complete } = counted.data
  return (
    <p>
      <strong class="count">
        {complete ? '' : 'At least '}
        {plural(found, 'timer')}
      </strong>{' '}
      {found === 1 ? 'matches' : 'match'} at this moment. A job changes at most 100,000.
    </p>
  )
}

function Body({
  action,
  when,
  note,
  done,
  total,
}: {
  readonly action: BulkAction
  readonly when: WhenGiven
  readonly note: Signal<string>
  readonly done?: Signal<number | undefined>
  readonly total?: number
}): JSX.Element {
  return (
    <>
      <p>{words[action].effect}</p>
      {action === 'move' && <WhenField when={when} />}
      {action === 'pause' && <NoteField note={note} />}
      {done?.value !== undefined && total !== undefined && (
        <p role="status">
          <progress max={total} value={done.value} aria-label="Progress" /> {count(done.value)} of{' '}
          {count(total)}
        </p>
      )}
    </>
  )
}

function bodyOf(action: BulkAction, when: WhenGiven, note: Signal<string>): Record<string, unknown> {
  if (action === 'move') return whenOf(when)
  return action === 'pause' ? { ...noteBody(note.value) } : {}
}

async function change(
  action: BulkAction,
  { kind, key }: Timer,
  body: Record<string, unknown>,
): Promise<string> {
  const method = action === 'cancel' ? 'DELETE' : 'POST'
  const path = timerPath(kind, key, action === 'cancel' ? '' : `/${action}`)
  const given = action === 'move' || action === 'pause' ? body : undefined
  const { outcome } = await api.value.send<{ outcome: string }>(method, path, given)
  return outcome
}

/** Runs calls, a few at a time. A call that fails counts with its reason, and does not stop the others. */
async function eachOf<Item>(
  items: readonly Item[],
  run: (item: Item) => Promise<string>,
  onProgress: (finished: number) => void,
): Promise<ReadonlyMap<string, number>> {
  const outcomes = new Map<string, number>()
  const queue = items.values()
  let finished = 0
  const work = async (): Promise<void> => {
    for (const item of queue) {
      const outcome = await run(item).catch((error: Error) => error.message)
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      onProgress(++finished)
    }
  }
  await Promise.all(Array.from({ length: 6 }, work))
  return outcomes
}

/** “12 cancelled, 1 firing”. */
function summaryOf(outcomes: ReadonlyMap<string, number>): string {
  return (
    [...outcomes]
      .map(([outcome, times]) => `${count(times)} ${outcome === 'moved' ? 'changed' : outcome}`)
      .join(', ') || 'Nothing was changed.'
  )
}
