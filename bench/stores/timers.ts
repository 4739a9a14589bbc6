import type { SetOperation } from 'carillon/store'
import { Random } from '../harness/random.js'

const PAYLOAD_BYTES = 120
/** Due times are uniform over this time. */
export const HORIZON_MS = 3_600_000

const POOL_BYTES = 1 << 20

/**
 * The timers of the store benches: keys of 20 characters, payloads of 120 random bytes, due within an hour.
 * Operations are created on demand, so that their creation is not measured and no memory is held.
 */
export class Timers {
  readonly n: number
  readonly start: number
  readonly #dueOffsets: Int32Array
  readonly #salts: Uint32Array
  readonly #pool: Uint8Array

  constructor(n: number, seed: number, start: number) {
    const random = new Random(seed)
    this.n = n
    this.start = start
    this.#dueOffsets = Int32Array.from({ length: n }, () => 1 + random.below(HORIZON_MS))
    this.#salts = Uint32Array.from({ length: n }, () => random.bits())
    this.#pool = Uint8Array.from({ length: POOL_BYTES + PAYLOAD_BYTES }, () => random.bits())
  }

  key(index: number): string {
    return `${hex(this.#salts[index]!)}tmr-${hex(index)}`
  }

  dueAt(index: number): number {
    return this.start + this.#dueOffsets[index]!
  }

  payload(index: number): Uint8Array {
    const at = (index * 131) % POOL_BYTES
    return this.#pool.subarray(at, at + PAYLOAD_BYTES)
  }

  set(index: number): SetOperation {
    const dueAt = this.dueAt(index)
    return {
      type: 'set',
      namespace: 'bench',
      kind: 'remind',
      key: this.key(index),
      identity: index + 1,
      createdAt: this.start,
      payload: this.payload(index),
      tags: [],
      details: '',
      dueAt,
      position: dueAt,
      attempt: 0,
      occurrence: 0,
    }
  }
}

function hex(bits: number): string {
  return bits.toString(16).padStart(8, '0')
}
