import { PlainSets } from '../store/index.js'
import { identityText, newIdentity } from '../timer/index.js'
import type { HistoryPolicy } from './history-policy.js'
import type { TimerKind } from './kind.js'
import type { SetOptions } from './set-request.js'
import { dueAtOf } from './when.js'

/** Fewer are not worth columns. */
export const LEAST_PLAIN = 16

/** What any `set` needs to know of where it is called. */
export interface PlainPlace {
  readonly namespace: string
  readonly now: number
  readonly random: () => number
  readonly history: HistoryPolicy
  readonly maxPayloadBytes: number
  /** The trace of the call, where calls are traced. */
  readonly trace: string | undefined
}

/**
 * The rows of a call as plain sets, if that is what they are; undefined when anything else is said of one of them. It
 * refuses what `setRequestOf` would; of a row with two faults perhaps the other.
 */
export function plainSetsOf<Payload>(
  kind: TimerKind<Payload>,
  rows: readonly SetOptions<Payload>[],
  keyOf: (index: number) => string | undefined,
  { namespace, now, random, history, maxPayloadBytes, trace }: PlainPlace,
): PlainSets | undefined {
  if (history === 'all' || trace !== undefined) return undefined
  const sets = new PlainSets({ namespace, kind: kind.name, createdAt: now }, rows.length, maxPayloadBytes)
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index]!
    if (!isPlain(row)) return undefined
    const identity = newIdentity(random)
    const key = keyOf(index) ?? identityText(identity)
    if (!sets.add(key, identity, dueAtOf(row, now, ''), row.payload)) return undefined
  }
  return sets
}

/** Whether nothing is said of a set but its key, when it is due and what it carries. */
function isPlain(row: object): boolean {
  if (typeof row !== 'object' || row === null) return false
  for (const name in row) {
    switch (name) {
      case 'key':
      case 'in':
      case 'at':
      case 'payload':
        break
      default:
        return false
    }
  }
  return true
}
