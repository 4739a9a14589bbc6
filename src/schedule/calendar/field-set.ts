/**
 * A set of integers from 0 to 59, as bits of two integers: the allowed values of an hour, minute or second
 * field. It finds the next allowed value without a loop, because every `next` of every schedule needs it.
 */
export class FieldSet {
  readonly #low: number
  readonly #high: number
  readonly values: readonly number[]
  readonly smallest: number

  constructor(values: Iterable<number>) {
    let low = 0
    let high = 0
    for (const value of values) {
      if (value < 30) low |= 1 << value
      else high |= 1 << (value - 30)
    }
    this.#low = low
    this.#high = high
    this.values = Array.from({ length: 60 }, (_, value) => value).filter((value) => this.has(value))
    this.smallest = this.values[0] ?? -1
  }

  has(value: number): boolean {
    return value < 30 ? (this.#low & (1 << value)) !== 0 : (this.#high & (1 << (value - 30))) !== 0
  }

  /** Counts the members below `value` (0 to 59). */
  countBelow(value: number): number {
    if (value < 30) return bitCount(this.#low & ((1 << value) - 1))
    return bitCount(this.#low) + bitCount(this.#high & ((1 << (value - 30)) - 1))
  }

  /** Returns the smallest member that is at least `value` (0 to 60), or -1. */
  firstFrom(value: number): number {
    let from = value
    if (from < 30) {
      const bits = this.#low >>> from
      if (bits !== 0) return from + lowestBit(bits)
      from = 30
    }
    const bits = this.#high >>> (from - 30)
    return bits === 0 ? -1 : from + lowestBit(bits)
  }
}

/** Returns the index of the lowest set bit. `bits` must not be 0. */
export function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits)
}

/** Counts the set bits. */
export function bitCount(bits: number): number {
  let left = bits - ((bits >>> 1) & 0x5555_5555)
  left = (left & 0x3333_3333) + ((left >>> 2) & 0x3333_3333)
  return Math.imul((left + (left >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24
}
