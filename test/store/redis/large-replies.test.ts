import { describe, expect, it } from 'vitest'
import { LargeReplies } from '../../../src/store/redis/large-replies.js'

/** Calls that are answered when the test says so. */
class Calls {
  readonly large = new LargeReplies()
  readonly #answers: ((kilobytes: number) => void)[] = []
  #answered = 0

  ask(count: number): void {
    for (let i = 0; i < count; i++) {
      void this.large.run(
        () =>
          new Promise((resolve) =>
            this.#answers.push((kilobytes) =>
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

  async answer(kilobytes: number): Promise<void> {
    this.#answers[this.#answered++]!(kilobytes)
    await new Promise((resolve) => setImmediate(resolve))
  }

  get underWay(): number {
    return this.#answers.length - this.#answered
  }
}

describe('large replies of one connection', () => {
  it('come two at a time while they are large', async () => {
    const calls = new Calls()
    calls.ask(10)
    expect(calls.underWay).toBe(2)
    for (let i = 0; i < 6; i++) {
      await calls.answer(2000)
      expect(calls.underWay).toBe(2)
    }
  })

  it('come more at a time when they turn out small, and few again when they grow', async () => {
    const calls = new Calls()
    calls.ask(100)
    await calls.answer(300)
    expect(calls.underWay).toBe(8)
    await calls.answer(0)
    expect(calls.underWay).toBe(8)
    await calls.answer(700)
    expect(calls.underWay).toBe(7)
    for (let i = 0; i < 8; i++) await calls.answer(700)
    expect(calls.underWay).toBe(4)
  })
})
