import { randomFillSync } from 'node:crypto'

const BYTES = 15
const DRAWN_AT_ONCE = 256

/**
 * Receipts that nobody can guess. Each carries the name of its instance. Random bytes are drawn for many receipts at once:
 * drawing them for a single one takes longer than all the rest of a lease.
 *
 * Proven by test/delivery/receipts.test.ts.
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
