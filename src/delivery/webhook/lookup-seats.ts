/** Runs a limited number of lookups at once. The others wait, in order of arrival. */
export class LookupSeats {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(seats: number) {
    this.#free = seats
  }

  async run<Answer>(look: () => Promise<Answer>): Promise<Answer> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await look()
    } finally {
      // The seat goes to the next in line, or becomes free.
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}
