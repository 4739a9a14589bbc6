/** Lets so many calls through at once, and the others after them, in the order they came. */
export class FewAtOnce {
  readonly #most: number
  readonly #waiting: (() => void)[] = []
  #underWay = 0

  constructor(most: number) {
    this.#most = most
  }

  async run<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    if (this.#underWay < this.#most) this.#underWay++
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await call()
    } finally {
      const next = this.#waiting.shift()
      // Its place goes to whoever waited longest, so that nobody who comes now is before.
      if (next === undefined) this.#underWay--
      else next()
    }
  }
}
