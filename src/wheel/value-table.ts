import { GrowingMemory } from './growing-memory.js'

// A page holds the values of 32,768 indices. It is larger than 128 kB, so that V8 never moves it. Smaller pages were
// copied twice in the middle of a later tick: eight megabytes for a million keys.
const PAGE_BITS = 15
const PAGE_VALUES = 1 << PAGE_BITS
const IN_PAGE = PAGE_VALUES - 1
const MAX_BYTES = 65_535 * 65_536

// The first page starts with this many values and doubles, because most wheels are small.
const FIRST_VALUES = 4096
// Marks a page that has no value yet.
const UNUSED: unknown[] = []

/**
 * A value for each of a growing number of indices. Numbers are in a typed array, which the garbage collector does not
 * scan. A page gets an ordinary array when the first other value is stored in it.
 * Proven by test/wheel/value-table.test.ts.
 */
export class ValueTable<V> {
  readonly #memory = new GrowingMemory(MAX_BYTES)
  // The part of a page that has an array is never touched, so it takes addresses but no memory.
  #numbers: Float64Array = new Float64Array(0)
  // Undefined for a page with numbers only.
  readonly #pages: (unknown[] | undefined)[] = []
  // The number of indices that fit.
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

  /** Removes the value of an index, so that it can be collected. */
  clear(index: number): void {
    const page = this.#pages[index >>> PAGE_BITS]
    if (page !== undefined) page[index & IN_PAGE] = undefined
  }

  /** Stores the first value of a page, or its first value that is not a number. */
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
