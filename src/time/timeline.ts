import { LimitError, StateError } from '../error/index.js'

// Taken at load: a test framework may later replace the global by a fake that never comes.
const yieldToLoop = setImmediate

const MOST_WAKES_PER_INSTANT = 1_000_000

/**
 * The passage of true time under one or several virtual clocks: entries in (time, order of asking), run one
 * by one as time is advanced over them. Time never goes back and never passes an entry that was not run.
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

  /** A place in the order of asking, for an entry to be added. */
  nextOrder(): number {
    return this.#order++
  }

  add(entry: E): void {
    this.#live++
    this.#rise(entry)
  }

  /** Takes an entry out; harmless when it has run. */
  remove(entry: E): void {
    if (entry.run === undefined) return
    entry.run = undefined
    this.#live--
  }

  /** Gives every entry another time, or the one it has; each keeps its place in the order of asking. */
  setAnew(timeOf: (entry: E) => number): void {
    const pending = this.#heap.filter((entry) => entry.run !== undefined)
    this.#heap.length = 0
    for (const entry of pending) {
      entry.at = timeOf(entry)
      this.#rise(entry)
    }
  }

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
      // Promises already under way may ask for wakes within this advance.
      await settled()
      while (this.#runNext(until)) {
        count++
        await settled()
      }
      this.#moveTo(until)
      return count
    } finally {
      this.#advancing = false
    }
  }

  #begin(): void {
    if (this.#advancing) {
      throw new StateError('clock-busy', 'this virtual clock is already advancing: await that advance first')
    }
    this.#advancing = true
    this.#wakesAtInstant = 0
  }

  #runNext(until: number): boolean {
    const next = this.#peek()
    if (next === undefined || next.at > until) return false
    this.#moveTo(next.at)
    if (++this.#wakesAtInstant > MOST_WAKES_PER_INSTANT) {
      throw new LimitError(
        'clock-stuck',
        `${MOST_WAKES_PER_INSTANT} wakes without time passing: a wake keeps re-arming itself at one instant`,
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
  /** Not to be changed while it is in a timeline, but by `setAnew`. */
  at: number
  readonly order: number
  /** Undefined once it ran or was removed. */
  run: (() => void) | undefined
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

function settled(): Promise<void> {
  return new Promise((resolve) => {
    yieldToLoop(resolve)
  })
}
