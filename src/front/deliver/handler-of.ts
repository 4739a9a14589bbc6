import type { Handler, HandleMany } from '../../delivery/index.js'
import { StoreError } from '../../error/index.js'
import { CONCURRENCY, CONCURRENCY_OF_BATCHES } from '../defaults.js'
import type { TimerKind, UnknownKind } from '../kind/kind.js'
import { validated } from '../kind/schema.js'

/** A handler without its function. */
export type HandlerBase = Omit<Handler, 'one' | 'many'>

/** How a kind is handled. `concurrency` applies unless the kind sets its own. */
export function handlerOf(kind: UnknownKind, concurrency = CONCURRENCY): HandlerBase {
  const { schema } = kind
  return {
    kind: kind.name,
    concurrency: kind.concurrency ?? concurrency,
    rate: kind.rate,
    timeoutMs: kind.timeoutMs,
    retry: kind.retry,
    check: schema && ((payload) => validated(kind.name, schema, payload)),
  }
}

/** A handler that gets firings in batches. */
export function batchHandlerOf<Payload>(
  kind: TimerKind<Payload, never>,
  handle: HandleMany<Payload>,
): Handler {
  return {
    ...handlerOf(kind, CONCURRENCY_OF_BATCHES),
    one: undefined,
    many: handle as HandleMany<unknown>,
  }
}

/** A handler that settles each firing in a transaction. Refused if the store has no transactions. */
export function transactionHandlerOf(kind: UnknownKind, capacity: number, storeName: string): HandlerBase {
  if (capacity === 0) {
    throw new StoreError(
      'no-transactions',
      `transaction: true needs a PostgreSQL store: these timers are in a ${storeName} store`,
    )
  }
  const base = handlerOf(kind, capacity)
  return { ...base, concurrency: Math.min(base.concurrency, capacity), isTransactional: true }
}
