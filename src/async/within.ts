import type { Clock } from '../time/index.js'

/** The answer of a promise, or undefined if it has none after this time. The promise goes on. */
export function within<Answer>(
  clock: Clock,
  ms: number,
  promise: Promise<Answer>,
): Promise<Answer | undefined> {
  return new Promise((resolve, reject) => {
    const wake = clock.wakeAfter(ms, () => resolve(undefined))
    promise.then(resolve, reject).finally(() => wake.cancel())
  })
}
