import type { Ending } from '../engine/index.js'
import type { HistoryEntry, HistoryNote } from '../store/index.js'
import { type Firing, occurrenceDueAt, type Outcome } from '../timer/index.js'

/** What the history keeps: nothing, what went wrong and how it ended, or everything. */
export type HistoryPolicy = 'none' | 'failures' | 'all'

/** What happened to a timer. */
export interface TimerEvent {
  readonly at: number
  readonly event:
    | 'created'
    | 'moved'
    | 'cancelled'
    | 'paused'
    | 'resumed'
    | 'attempt'
    | 'handed-over'
    | 'unknown-attempt'
    | 'settled'
    | 'dead'
  readonly kind: string
  readonly key: string
  /** Which life of the key: a `set` begins a new one. */
  readonly identity: number
  readonly dueAt?: number
  readonly attempt?: number
  readonly occurrence?: number
  readonly outcome?: 'done' | 'next' | 'retry' | 'dead'
  readonly durationMs?: number
  readonly latenessMs?: number
  readonly reason?: string
  /** Of a hand-over: the instance that had the timer before, unless it had let go, and the one that has it since. */
  readonly from?: string
  readonly to?: string
  /** When it is tried again, or due next. */
  readonly nextDueAt?: number
  /** The timer was set anew meanwhile, so nothing followed. */
  readonly isSuperseded?: boolean
}

type Facts = Omit<TimerEvent, 'at' | 'event' | 'kind' | 'key' | 'identity'>

export function noteOf(at: number, event: TimerEvent['event'], facts: Facts): HistoryNote {
  return { at, event, details: JSON.stringify(facts) }
}

export function timerEventOf({ at, event, kind, key, identity, details }: HistoryEntry): TimerEvent {
  return { at, event: event as TimerEvent['event'], kind, key, identity, ...(JSON.parse(details) as Facts) }
}

/** What the history gets of an attempt. */
export function notesOfAttempt(
  policy: HistoryPolicy,
  firing: Firing,
  ending: Ending,
): readonly HistoryNote[] {
  if (policy === 'none') return []
  const notes = notesOfEnding(policy, firing, ending)
  const { handOver } = ending
  // Of what went well in spite of it only a history of everything tells.
  if (handOver === undefined || (policy === 'failures' && notes.length === 0)) return notes
  const { from, to, at } = handOver
  const facts = { dueAt: occurrenceDueAt(firing.row), to, ...(from !== undefined && { from }) }
  return [noteOf(at, 'handed-over', facts), ...notes]
}

function notesOfEnding(
  policy: HistoryPolicy,
  { row, attempt, firedAt }: Firing,
  ending: Ending,
): readonly HistoryNote[] {
  const common = { attempt, occurrence: row.occurrence, dueAt: occurrenceDueAt(row) }
  if (ending.type === 'unknown') return [noteOf(ending.at, 'unknown-attempt', common)]
  const { outcome, at, isFollowed } = ending
  const isGood = outcome.type === 'done' || outcome.type === 'next'
  if (policy === 'failures' && isGood && attempt === 1) return []
  const notes = [
    noteOf(at, 'attempt', {
      ...common,
      outcome: outcome.type,
      durationMs: at - firedAt,
      latenessMs: firedAt - row.dueAt,
      ...('reason' in outcome && { reason: outcome.reason }),
      ...nextDueAtOf(outcome),
      ...(!isFollowed && { isSuperseded: true }),
    }),
  ]
  if (isFollowed && outcome.type === 'done') notes.push(noteOf(at, 'settled', { occurrence: row.occurrence }))
  if (isFollowed && outcome.type === 'dead') {
    notes.push(noteOf(at, 'dead', { reason: outcome.reason, ...nextDueAtOf(outcome) }))
  }
  return notes
}

function nextDueAtOf(outcome: Outcome): Pick<Facts, 'nextDueAt'> {
  if ('dueAt' in outcome) return { nextDueAt: outcome.dueAt }
  return outcome.type === 'dead' && outcome.next !== undefined ? { nextDueAt: outcome.next.dueAt } : {}
}

/** A timer's life as sentences, in order. */
export function told(events: readonly TimerEvent[]): string[] {
  return events.map((event) => `${new Date(event.at).toISOString()} ${sentenceOf(event)}`)
}

function sentenceOf(event: TimerEvent): string {
  const due = event.dueAt === undefined ? '' : `, due ${new Date(event.dueAt).toISOString()}`
  switch (event.event) {
    case 'created':
      return `set${due}`
    case 'moved':
      return `moved${due}`
    case 'cancelled':
      return 'cancelled'
    case 'paused':
      return 'paused'
    case 'resumed':
      return `resumed${due}`
    case 'handed-over':
      return event.from === undefined
        ? `due while nobody had it, until ${event.to} came`
        : `handed over from ${event.from} to ${event.to} while it was due`
    case 'unknown-attempt':
      return `attempt ${event.attempt}: nobody knows how it ended, its owner was lost`
    case 'attempt':
      return `attempt ${event.attempt} ${wordOf(event)} after ${event.durationMs} ms, ${event.latenessMs} ms late${followOf(event)}`
    case 'settled':
      return 'settled'
    case 'dead':
      return `given up: ${event.reason ?? ''}${followOf(event)}`
  }
}

function wordOf({ outcome, reason }: TimerEvent): string {
  return outcome === 'done' || outcome === 'next' ? 'went well' : `failed (${reason ?? 'no reason given'})`
}

function followOf({ nextDueAt, outcome, isSuperseded }: TimerEvent): string {
  if (isSuperseded === true) return '; it was set anew meanwhile, so nothing followed'
  if (nextDueAt === undefined) return ''
  return `; ${outcome === 'retry' ? 'tried again' : 'next'} ${new Date(nextDueAt).toISOString()}`
}
