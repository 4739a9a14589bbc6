import { SetColumns } from '../../store/index.js'
import { identityText, newIdentity } from '../../timer/index.js'
import type { HistoryPolicy } from '../read/history-policy.js'
import type { UnknownKind } from '../kind/kind.js'
import type { SetOptions } from './set-request.js'
import { dueAtOf } from '../when.js'

/** What every set of a call has in common. */
export interface CallContext {
  readonly namespace: string
  readonly now: number
  readonly random: () => number
  readonly history: HistoryPolicy
  readonly maxPayloadBytes: number
  /** The trace of the call; undefined when tracing is off. */
  readonly trace: string | undefined
}

/**
 * The rows of a call as columns, if all of them are plain; undefined if any row has another option. It refuses the same
 * rows as `setRequestOf`, but may report another error of a row with two.
 */
export function plainSetsOf(
  kind: UnknownKind,
  rows: readonly SetOptions<unknown>[],
  keyOf: (index: number) => string | undefined,
  { namespace, now, random, history, maxPayloadBytes, trace }: CallContext,
): SetColumns | undefined {
  if (history === 'all' || trace !== undefined) return undefined
  const sets = new SetColumns({ namespace, kind: kind.name, createdAt: now }, rows.length, maxPayloadBytes)
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index]!
    if (!isPlain(row)) return undefined
    const identity = newIdentity(random)
    const key = keyOf(index) ?? identityText(identity)
    if (!sets.add(key, identity, dueAtOf(row, now, ''), row.payload)) return undefined
  }
  return sets
}

/** Whether a set has only a key, a due time and a payload. */
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
