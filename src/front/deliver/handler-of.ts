import { type Handler, type HandleMany, HandlerThreads } from '../../delivery/index.js'
import { StoreError } from '../../error/index.js'
import type { Clock } from '../../time/index.js'
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

/** Starts the threads of a handler module. As many attempts run at once as there are threads, unless the kind says otherwise. */
export async function threadsOf(
  kind: UnknownKind,
  module: URL,
  threads: number,
  clock: Clock,
): Promise<HandlerThreads> {
  const { name, timeoutMs, schema, concurrency = threads } = kind
  return await HandlerThreads.start({
    kind: name,
    module,
    threads,
    concurrency,
    timeoutMs,
    hasSchema: schema !== undefined,
    clock,
  })
}

/** The handler of a module on threads, which measure the time of each attempt themselves. */
export function threadHandlerOf(kind: UnknownKind, threads: number, started: HandlerThreads): Handler {
  return { ...handlerOf(kind, threads), timeoutMs: Infinity, one: started.handle, many: undefined }
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
