/** Lets so many calls through at once, and the others after them, in the order they came. */
export class FewAtOnce {
  readonly #waiting: (() => void)[] = []
  #most: number
  #underWay = 0

  constructor(most: number) {
    this.#most = most
  }

  /** From now on so many; those that are more already stay. */
  allow(most: number): void {
    this.#most = most
    this.#admit()
  }

  async run<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    // Nobody who comes now is before those who wait.
    if (this.#underWay < this.#most && this.#waiting.length === 0) this.#underWay++
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await call()
    } finally {
      this.#underWay--
      this.#admit()
    }
  }

  #admit(): void {
    while (this.#underWay < this.#most) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      this.#underWay++
      next()
    }
  }
}
