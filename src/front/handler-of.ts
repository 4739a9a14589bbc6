import type { Handler } from '../delivery/index.js'
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
