import type { Handler } from '../delivery/index.js'
import type { TimerEngine } from '../engine/index.js'
import { checkOptions, InvalidInputError, shown, StoreError } from '../error/index.js'
import type { Store } from '../store/index.js'
import type { TimerKind } from './kind.js'
import { validated } from './schema.js'

/** How a kind is handled, but for the function that does it; `concurrency` unless the kind says otherwise. */
export function handlerOf<Payload>(
  kind: TimerKind<Payload>,
  concurrency: number,
): Omit<Handler, 'one' | 'many'> {
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

/** How a kind is handled one by one, by a transaction if that is asked for; refused where there are none. */
export function howToHandle<Payload>(
  kind: TimerKind<Payload>,
  options: { readonly transaction?: boolean },
  engine: TimerEngine,
  store: Store,
): Omit<Handler, 'one' | 'many'> {
  checkOptions('handle', options, ['transaction'])
  const { transaction = false } = options
  if (typeof transaction !== 'boolean') {
    throw new InvalidInputError(
      'invalid-option',
      `transaction must be true or false, got ${shown(transaction)}`,
    )
  }
  if (!transaction) return handlerOf(kind, 1000)
  const { transactionCapacity } = engine
  if (transactionCapacity === 0) {
    throw new StoreError(
      'no-transactions',
      `a handler settles by a transaction only where the store has such: PostgreSQL; these timers are on ${store.name}`,
    )
  }
  const how = handlerOf(kind, transactionCapacity)
  return { ...how, concurrency: Math.min(how.concurrency, transactionCapacity), isTransactional: true }
}
