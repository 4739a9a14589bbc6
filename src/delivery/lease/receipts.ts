import { randomFillSync } from 'node:crypto'

const BYTES = 15
const DRAWN_AT_ONCE = 256

/**
 * Receipts that nobody can guess, each with the name of the instance that gave it. Random bytes are drawn for many
 * at once: asking the system for the few of one receipt takes longer than all the rest of a lease.
 */
export class Receipts {
  readonly #prefix: string
  readonly #drawn = Buffer.alloc(BYTES * DRAWN_AT_ONCE)
  #next = this.#drawn.length

  constructor(member: string) {
    this.#prefix = `${member}.`
  }

  next(): string {
    if (this.#next === this.#drawn.length) {
      randomFillSync(this.#drawn)
      this.#next = 0
    }
    const from = this.#next
    this.#next += BYTES
    return this.#prefix + this.#drawn.toString('base64url', from, this.#next)
  }
}
