import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { ThreadClock, threadOrigin } from '../../src/time/index.js'

describe('the clock of a thread', () => {
  it('never goes back, and counts from its origin', () => {
    const clock = new ThreadClock()
    let last = clock.micros()
    expect(last).toBeGreaterThanOrEqual(0)
    for (let i = 0; i < 10_000; i++) {
      const now = clock.micros()
      expect(now).toBeGreaterThanOrEqual(last)
      last = now
    }
  })

  it('agrees with that of a thread that started later', async () => {
    const origin = threadOrigin()
    const clock = new ThreadClock(origin)
    // The same formula, in another thread: vitest does not compile files for worker threads.
    const source = `const { workerData, parentPort } = require('node:worker_threads')
      const offset = Number(process.hrtime.bigint() - workerData) / 1e6 - performance.now()
      parentPort.postMessage((performance.now() + offset) * 1000)`
    const before = clock.micros()
    const worker = new Worker(source, { eval: true, workerData: origin })
    const there = await new Promise<number>((resolve) => worker.once('message', resolve))
    const after = clock.micros()
    expect(there).toBeGreaterThanOrEqual(before)
    expect(there).toBeLessThanOrEqual(after)
    await worker.terminate()
  })
})
