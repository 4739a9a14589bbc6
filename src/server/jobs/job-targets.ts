import { CarillonError, LimitError } from '../../error/index.js'
import type { TimerChange, Timers, TimerView } from '../../front/index.js'
import { DEAD_SURVEY_ROWS, MAX_BULK_TIMERS } from '../defaults.js'
import { groupReasonOf } from '../views/dead-reason.js'
import type { DeadFilter, JobTask } from './job.js'

/** A timer or a dead letter that a job changes. */
export type JobTarget =
  { readonly kind: string; readonly key: string; readonly handle: string } | { readonly id: string }

/** Everything that a job is to change. It is found before the first change: a search could meet a moved timer again. */
export async function targetsOf(
  timers: Timers,
  task: JobTask,
  onFound: (count: number) => void,
  isStopping: () => boolean,
): Promise<readonly JobTarget[]> {
  const targets: JobTarget[] = []
  const pages =
    task.action === 'redrive' || task.action === 'discard'
      ? deadPages(timers, task.filter)
      : timerPages(timers, task.filter)
  for await (const page of pages) {
    targets.push(...page)
    onFound(targets.length)
    if (isStopping()) return targets
    if (targets.length > MAX_BULK_TIMERS)
      throw new LimitError(
        'too-many-timers',
        `more than ${MAX_BULK_TIMERS} match, and none was changed: narrow the filter, and run several jobs`,
      )
  }
  return targets
}

async function* timerPages(
  timers: Timers,
  filter: Parameters<Timers['list']>[0],
): AsyncGenerator<readonly JobTarget[]> {
  let cursor: string | undefined
  do {
    const page = await timers.list({ ...filter, limit: 1000, cursor })
    yield page.items.map(({ kind, key, handle }: TimerView) => ({ kind, key, handle }))
    cursor = page.cursor
  } while (cursor !== undefined)
}

async function* deadPages(timers: Timers, filter: DeadFilter): AsyncGenerator<readonly JobTarget[]> {
  const { kind, key } = filter
  let cursor: string | undefined
  do {
    const page = await timers.dead({
      ...(kind !== undefined && { kind }),
      ...(key !== undefined && { key }),
      limit: DEAD_SURVEY_ROWS,
      cursor,
    })
    yield page.items.filter((letter) => matchesDead(letter, filter)).map(({ id }) => ({ id }))
    cursor = page.cursor
  } while (cursor !== undefined)
}

/** Whether a dead letter has the reason and died within the time of a filter. */
export function matchesDead(
  letter: { readonly reason: string; readonly diedAt: number },
  { reason, diedFrom = -Infinity, diedUntil = Infinity }: DeadFilter,
): boolean {
  return (
    letter.diedAt >= diedFrom &&
    letter.diedAt < diedUntil &&
    (reason === undefined || groupReasonOf(letter.reason) === reason)
  )
}

/** The outcome of one change, or why it failed. */
export type JobOutcome = string | CarillonError

/** Changes some of the targets of a job. One outcome for each. */
export async function changeTargets(
  timers: Timers,
  task: JobTask,
  targets: readonly JobTarget[],
): Promise<readonly JobOutcome[]> {
  switch (task.action) {
    case 'redrive': {
      const { count } = await timers.redrive(idsOf(targets))
      return outcomesOf('redriven', count, targets.length)
    }
    case 'discard':
      return outcomesOf('discarded', await timers.discard(idsOf(targets)), targets.length)
    case 'pause':
    case 'resume':
      return await Promise.all(targets.map((target) => pauseOrResume(timers, task, target)))
    case 'cancel':
    case 'move':
    case 'fire': {
      const moveTo = task.action === 'move' ? task.when : { in: 0 }
      const changes = targets.map((target): TimerChange => {
        const handle = 'handle' in target ? target.handle : ''
        return task.action === 'cancel' ? { handle } : { handle, moveTo }
      })
      const results = await timers.changeEach(changes)
      return results.map(({ outcome, error }) => (error === undefined ? outcome : error))
    }
  }
}

async function pauseOrResume(timers: Timers, task: JobTask, target: JobTarget): Promise<JobOutcome> {
  if (!('kind' in target)) return 'unknown'
  const { kind, key } = target
  try {
    return task.action === 'pause'
      ? await timers.pause(kind, key, task.pause)
      : await timers.resume(kind, key)
  } catch (error) {
    if (error instanceof CarillonError) return error
    throw error
  }
}

function idsOf(targets: readonly JobTarget[]): readonly string[] {
  return targets.flatMap((target) => ('id' in target ? [target.id] : []))
}

/** Others may have changed some of the letters meanwhile. */
function outcomesOf(outcome: string, count: number, all: number): readonly string[] {
  return Array.from({ length: all }, (_, index) => (index < count ? outcome : 'unknown'))
}
