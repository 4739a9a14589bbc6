import { openTimers, timer } from 'carillon'
import { describe, expect, it } from 'vitest'

const ring = timer<string>('ring')
const CALLS = 50

describe('calls in one turn of the event loop', () => {
  it('share one write, although each arrives separately, as from many connections', async () => {
    await using timers = await openTimers({ store: 'memory:' })
    await timers.start()
    await timers.set(ring, 'first', { in: '1h', payload: '' })
    const before = timers.engine.stats().counts
    const sets = Array.from(
      { length: CALLS },
      (_, index) =>
        new Promise<{ readonly outcome: string }>((resolve, reject) => {
          // Promise callbacks run between two immediates, so anything that waits only for promises ends before.
          setImmediate(() => {
            timers.set(ring, `k${index}`, { in: '1h', payload: '' }).then(resolve, reject)
          })
        }),
    )
    for (const { outcome } of await Promise.all(sets)) expect(outcome).toBe('set')
    const { writes, operations } = timers.engine.stats().counts
    expect(operations - before.operations).toBe(CALLS)
    expect(writes - before.writes).toBe(1)
  })
})
