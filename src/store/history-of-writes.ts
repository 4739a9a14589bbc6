import { SetColumnsWrite } from './set-columns.js'
import type { HistoryEntry, Operation, OperationAnswer, OwnerWrite } from './store.js'

/** Whether any operation of a write has a note. Plain sets have none. */
export function hasNotes(write: OwnerWrite): boolean {
  if (write instanceof SetColumnsWrite) return false
  return write.operations.some((operation) => operation.type !== 'answer' && operation.note !== undefined)
}

/** The history entries of operations: the notes of those that changed something. */
export function historyOfWrites(
  operations: readonly Operation[],
  answers: readonly OperationAnswer[],
): HistoryEntry[] {
  const entries: HistoryEntry[] = []
  for (let index = 0; index < operations.length; index++) {
    const operation = operations[index]!
    if (operation.type === 'answer' || operation.note === undefined) continue
    const identity = changedIdentity(operation, answers[index]!)
    if (identity === undefined) continue
    const { namespace, kind, key, note } = operation
    entries.push({ namespace, kind, key, identity, at: note.at, event: note.event, details: note.details })
  }
  return entries
}

/** The identity of the timer that an operation changed; undefined when it changed nothing. */
function changedIdentity(
  operation: { readonly identity?: number },
  answer: OperationAnswer,
): number | undefined {
  if (answer.outcome === 'set') return operation.identity
  if (answer.outcome === 'moved') return answer.row.identity
  return answer.outcome === 'cancelled' ? answer.removed.identity : undefined
}
