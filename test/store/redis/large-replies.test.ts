import { describe, expect, it } from 'vitest'
import { LargeReplies } from '../../../src/store/redis/net/large-replies.js'

/** Calls whose replies the test sends. */
class Calls {
  readonly large = new LargeReplies()
  readonly #replies: ((kilobytes: number) => void)[] = []
  #replied = 0

  start(count: number): void {
    for (let i = 0; i < count; i++) {
      void this.large.run(
        () =>
          new Promise((resolve) =>
            this.#replies.push((kilobytes) =>
              resolve([
                Buffer.from('level'),
                null,
                Array.from({ length: kilobytes }, () => Buffer.alloc(900)),
                [Buffer.alloc(100 * kilobytes)],
              ]),
            ),
          ),
      )
    }
  }

  async reply(kilobytes: number): Promise<void> {
    this.#replies[this.#replied++]!(kilobytes)
    await new Promise((resolve) => setImmediate(resolve))
  }

  get inFlight(): number {
    return this.#replies.length - this.#replied
  }
}

describe('LargeReplies', () => {
  it('runs two calls at once while replies are large', async () => {
    const calls = new Calls()
    calls.start(10)
    expect(calls.inFlight).toBe(2)
    for (let i = 0; i < 6; i++) {
      await calls.reply(2000)
      expect(calls.inFlight).toBe(2)
    }
  })

  it('runs more calls at once when replies are small, and fewer when they grow', async () => {
    const calls = new Calls()
    calls.start(100)
    await calls.reply(300)
    expect(calls.inFlight).toBe(8)
    await calls.reply(0)
    expect(calls.inFlight).toBe(8)
    await calls.reply(700)
    expect(calls.inFlight).toBe(7)
    for (let i = 0; i < 8; i++) await calls.reply(700)
    expect(calls.inFlight).toBe(4)
  })
})
