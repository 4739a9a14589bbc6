import { GrowingMemory } from './growing-memory.js'

// A page of values, for 32,768 indices. Heavier than 128 kB, so that V8 never moves it: smaller ones, made while keys
// are added, were copied in the middle of a later tick, twice, eight megabytes for a million keys.
const PAGE_BITS = 15
const PAGE_VALUES = 1 << PAGE_BITS
const IN_PAGE = PAGE_VALUES - 1
const MAX_BYTES = 65_535 * 65_536

// The first page begins with this many and doubles: most wheels are small.
const FIRST_VALUES = 4096
// Stands for a page without a value so far.
const UNUSED: unknown[] = []

/**
 * A value for each of a growing number of small integers. Numbers are kept in a typed array, of which the garbage
 * collector knows nothing; a page gets an array of its own with the first value in it that is something else.
 */
export class ValueTable<V> {
  readonly #memory = new GrowingMemory(MAX_BYTES)
  // Only addresses, no memory, where a page has an array.
  #numbers: Float64Array = new Float64Array(0)
  // Nothing where all values so far are numbers.
  readonly #pages: (unknown[] | undefined)[] = []
  // The indices that there is room for.
  #room = 0

  get(index: number): V {
    const page = this.#pages[index >>> PAGE_BITS]
    return (page === undefined ? this.#numbers[index] : page[index & IN_PAGE]) as V
  }

  set(index: number, value: V): void {
    if (index >= this.#room) this.#makeRoomFor(index)
    const page = this.#pages[index >>> PAGE_BITS]
    if (page === undefined && typeof value === 'number') this.#numbers[index] = value
    else if (page === undefined || page === UNUSED) this.#setFirst(index, value)
    else page[index & IN_PAGE] = value
  }

  /** Lets go of what is kept for an index. */
  clear(index: number): void {
    const page = this.#pages[index >>> PAGE_BITS]
    if (page !== undefined) page[index & IN_PAGE] = undefined
  }

  /** Sets the first value of a page, or the first in it that is no number. */
  #setFirst(index: number, value: V): void {
    const at = index >>> PAGE_BITS
    if (typeof value === 'number') {
      this.#pages[at] = undefined
      this.#numbers[index] = value
      return
    }
    const start = at << PAGE_BITS
    const numbers = this.#pages[at] ?? this.#numbers.subarray(start, start + PAGE_VALUES)
    const page = this.#pageOf(numbers)
    page[index & IN_PAGE] = value
    this.#pages[at] = page
  }

  #pageOf(values: ArrayLike<unknown>): unknown[] {
    const page = new Array<unknown>(Math.min(this.#room, PAGE_VALUES)).fill(undefined)
    for (let i = 0; i < values.length && i < page.length; i++) page[i] = values[i]
    return page
  }

  #makeRoomFor(index: number): void {
    while (this.#room <= index) this.#room += Math.min(Math.max(this.#room, FIRST_VALUES), PAGE_VALUES)
    this.#numbers = new Float64Array(this.#memory.grow(this.#room * 8))
    while (this.#pages.length << PAGE_BITS < this.#room) this.#pages.push(UNUSED)
    const [first] = this.#pages
    if (first !== undefined && first !== UNUSED && first.length < PAGE_VALUES)
      this.#pages[0] = this.#pageOf(first)
  }
}
