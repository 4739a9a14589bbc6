import { LimitError, StateError } from '../error/index.js'

// Captured at load: a test framework may later replace the global by a fake that never runs. Browsers have none.
const yieldToLoop: (run: () => void) => unknown =
  'setImmediate' in globalThis ? setImmediate : (run) => setTimeout(run, 0)

const MAX_WAKES_PER_INSTANT = 1_000_000

/**
 * True time, as one or several virtual clocks share it. It runs its entries one by one while time advances: by time,
 * and those of one instant in the order in which they were asked for. Time never goes back, and never passes an entry
 * that has not run.
 */
export class Timeline<E extends Entry> {
  time = 0
  readonly #heap: E[] = []
  #order = 0
  #live = 0
  #advancing = false
  #wakesAtInstant = 0

  get size(): number {
    return this.#live
  }

  /** The sequence number for the next entry. */
  nextOrder(): number {
    return this.#order++
  }

  add(entry: E): void {
    this.#live++
    this.#rise(entry)
  }

  /** Removes an entry. Harmless if it has run. */
  remove(entry: E): void {
    if (entry.run === undefined) return
    entry.run = undefined
    this.#live--
  }

  /** Recomputes the time of every entry. Entries keep their sequence numbers. */
  reschedule(timeOf: (entry: E) => number): void {
    const pending = this.#heap.filter((entry) => entry.run !== undefined)
    this.#heap.length = 0
    for (const entry of pending) {
      entry.at = timeOf(entry)
      this.#rise(entry)
    }
  }

  /** Milliseconds until the next entry; undefined if there is none. */
  untilNext(): number | undefined {
    const next = this.#peek()
    return next === undefined ? undefined : next.at - this.time
  }

  advanceSync(ms: number): number {
    this.#begin()
    try {
      const until = this.time + ms
      let count = 0
      while (this.#runNext(until)) count++
      this.#moveTo(until)
      return count
    } finally {
      this.#advancing = false
    }
  }

  async advance(ms: number): Promise<number> {
    this.#begin()
    try {
      const until = this.time + ms
      let count = 0
      // Promises that are already under way may ask for wakes within this advance.
      await runPromises()
      while (this.#runNext(until)) {
        count++
        await runPromises()
      }
      this.#moveTo(until)
      return count
    } finally {
      this.#advancing = false
    }
  }

  #begin(): void {
    if (this.#advancing) {
      throw new StateError(
        'clock-busy',
        'this virtual clock is already advancing: await the other advance first',
      )
    }
    this.#advancing = true
    this.#wakesAtInstant = 0
  }

  #runNext(until: number): boolean {
    const next = this.#peek()
    if (next === undefined || next.at > until) return false
    this.#moveTo(next.at)
    if (++this.#wakesAtInstant > MAX_WAKES_PER_INSTANT) {
      throw new LimitError(
        'clock-stuck',
        `${MAX_WAKES_PER_INSTANT} wakes at one instant: a wake keeps asking for another one without a delay`,
      )
    }
    this.#pop()
    const run = next.run!
    this.remove(next)
    run()
    return true
  }

  #moveTo(time: number): void {
    if (time > this.time) this.#wakesAtInstant = 0
    this.time = time
  }

  #peek(): E | undefined {
    while (this.#heap.length > 0 && this.#heap[0]!.run === undefined) this.#pop()
    return this.#heap[0]
  }

  #rise(entry: E): void {
    entry.at = Math.max(entry.at, this.time)
    const heap = this.#heap
    let i = heap.push(entry) - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (!isBefore(entry, heap[parent]!)) break
      heap[i] = heap[parent]!
      i = parent
    }
    heap[i] = entry
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()!
    if (heap.length === 0) return
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, last)) break
      heap[i] = heap[child]!
      i = child
    }
    heap[i] = last
  }
}

export interface Entry {
  /** While the entry is in a timeline, only `reschedule` may change it. */
  at: number
  readonly order: number
  /** Undefined once the entry has run or was removed. */
  run: (() => void) | undefined
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

/** Lets all promises that can go on do so. */
function runPromises(): Promise<void> {
  return new Promise((resolve) => {
    yieldToLoop(resolve)
  })
}
