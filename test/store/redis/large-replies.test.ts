import { describe, expect, it } from 'vitest'
import { LargeReplies } from '../../../src/store/redis/large-replies.js'

/** Calls that are answered when the test says so. */
class Calls {
  readonly large = new LargeReplies()
  readonly #answers: ((elements: number) => void)[] = []
  #answered = 0

  ask(count: number): void {
    for (let i = 0; i < count; i++) {
      void this.large.run(
        () =>
          new Promise((resolve) =>
            this.#answers.push((elements) =>
              resolve(['level', '', Array.from({ length: elements }, () => 'x')]),
            ),
          ),
      )
    }
  }

  async answer(elements: number): Promise<void> {
    this.#answers[this.#answered++]!(elements)
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
      await calls.answer(20_000)
      expect(calls.underWay).toBe(2)
    }
  })

  it('come more at a time when they turn out small, and few again when they grow', async () => {
    const calls = new Calls()
    calls.ask(100)
    await calls.answer(3000)
    expect(calls.underWay).toBe(8)
    await calls.answer(0)
    expect(calls.underWay).toBe(8)
    await calls.answer(6000)
    expect(calls.underWay).toBe(7)
    for (let i = 0; i < 8; i++) await calls.answer(6000)
    expect(calls.underWay).toBe(4)
  })
})
