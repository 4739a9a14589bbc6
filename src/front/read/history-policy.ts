import type { Ending } from '../../engine/index.js'
import type { HistoryEntry, HistoryNote } from '../../store/index.js'
import { type Firing, occurrenceDueAt, type Outcome } from '../../timer/index.js'

/** What the history keeps: nothing, failures and how they ended, or everything. */
export type HistoryPolicy = 'none' | 'failures' | 'all'

/** An event in a timer's history. */
export interface TimerEvent {
  readonly at: number
  readonly event:
    | 'created'
    | 'moved'
    | 'cancelled'
    | 'ending'
    | 'paused'
    | 'resumed'
    | 'attempt'
    | 'handed-over'
    | 'unknown-attempt'
    | 'settled'
    | 'dead'
    | 'missed'
  readonly kind: string
  readonly key: string
  /** Which life of the key. Each `set` begins a new one. */
  readonly identity: number
  readonly dueAt?: number
  readonly attempt?: number
  readonly occurrence?: number
  readonly outcome?: 'done' | 'next' | 'retry' | 'dead'
  readonly durationMs?: number
  readonly latenessMs?: number
  readonly reason?: string
  /** Of a hand-over: the previous instance, unless it had released the timer, and the new one. */
  readonly from?: string
  readonly to?: string
  /** When the retry or the next occurrence is due. */
  readonly nextDueAt?: number
  /** The timer was set again during the attempt, so the outcome had no effect. */
  readonly isSuperseded?: boolean
}

type Facts = Omit<TimerEvent, 'at' | 'event' | 'kind' | 'key' | 'identity'>

export function noteOf(at: number, event: TimerEvent['event'], facts: Facts): HistoryNote {
  return { at, event, details: JSON.stringify(facts) }
}

export function timerEventOf({ at, event, kind, key, identity, details }: HistoryEntry): TimerEvent {
  return { at, event: event as TimerEvent['event'], kind, key, identity, ...(JSON.parse(details) as Facts) }
}

/** The notes about an attempt. They are part of its settlement. */
export function notesOfAttempt(
  policy: HistoryPolicy,
  firing: Firing,
  ending: Ending,
): readonly HistoryNote[] {
  if (policy === 'none') return []
  const notes = notesOfEnding(policy, firing, ending)
  const { ownerChange } = ending
  // After a successful first attempt, only the policy 'all' keeps the hand-over.
  if (ownerChange === undefined || (policy === 'failures' && notes.length === 0)) return notes
  const { from, to, at } = ownerChange
  const facts = { dueAt: occurrenceDueAt(firing.row), to, ...(from !== undefined && { from }) }
  return [noteOf(at, 'handed-over', facts), ...notes]
}

function notesOfEnding(
  policy: HistoryPolicy,
  { row, attempt, firedAt }: Firing,
  ending: Ending,
): readonly HistoryNote[] {
  if (ending.type === 'given-up') return [noteOf(ending.at, 'dead', { reason: ending.reason })]
  if (ending.type === 'ended' && policy === 'failures' && attempt === 1 && isSuccess(ending.outcome))
    return []
  const common = { attempt, occurrence: row.occurrence, dueAt: occurrenceDueAt(row) }
  if (ending.type === 'unknown') return [noteOf(ending.at, 'unknown-attempt', common)]
  const { outcome, at, isFollowed } = ending
  if (outcome.type === 'dead' && outcome.isMissed === true) {
    const { reason } = outcome
    return [noteOf(at, 'missed', { ...common, reason, ...nextDueAtOf(outcome) })]
  }
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

function isSuccess({ type }: Outcome): boolean {
  return type === 'done' || type === 'next'
}

function nextDueAtOf(outcome: Outcome): Pick<Facts, 'nextDueAt'> {
  if ('dueAt' in outcome) return { nextDueAt: outcome.dueAt }
  return outcome.type === 'dead' && outcome.next !== undefined ? { nextDueAt: outcome.next.dueAt } : {}
}

/** A timer's history as sentences, in order. */
export function sentencesOf(events: readonly TimerEvent[]): string[] {
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
    case 'ending':
      return 'cancelled while it fired: no attempt follows the one that runs'
    case 'paused':
      return 'paused'
    case 'resumed':
      return `resumed${due}`
    case 'handed-over':
      return event.from === undefined
        ? `due while no instance had it, then taken over by ${event.to}`
        : `handed over from ${event.from} to ${event.to} while it was due`
    case 'unknown-attempt':
      return `attempt ${event.attempt}: outcome unknown, because its owner was lost`
    case 'attempt':
      return `attempt ${event.attempt} ${resultOf(event)} after ${event.durationMs} ms, ${event.latenessMs} ms late${followUpOf(event)}`
    case 'settled':
      return 'settled'
    case 'missed':
      return `${event.reason ?? 'missed'}${followUpOf(event)}`
    case 'dead':
      return `became a dead letter: ${event.reason ?? ''}${followUpOf(event)}`
  }
}

function resultOf({ outcome, reason }: TimerEvent): string {
  return outcome === 'done' || outcome === 'next' ? 'succeeded' : `failed (${reason ?? 'no reason given'})`
}

function followUpOf({ nextDueAt, outcome, isSuperseded }: TimerEvent): string {
  if (isSuperseded === true) return '; no effect, because the timer was set again meanwhile'
  if (nextDueAt === undefined) return ''
  return `; ${outcome === 'retry' ? 'retry at' : 'next at'} ${new Date(nextDueAt).toISOString()}`
}
