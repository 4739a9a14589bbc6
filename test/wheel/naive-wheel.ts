/**
 * What a wheel promises, in the simplest way there is: every timer in a map, the earliest found by looking
 * at all of them. It is told what the real wheel fires and says whether that was right.
 */
export class NaiveWheel {
  tick: number
  readonly #timers = new Map<number, Timer>()
  #nextId = 1
  #advance = 0
  #until: number | undefined

  constructor(startTick: number) {
    this.tick = startTick
  }

  get size(): number {
    return this.#timers.size
  }

  set(dueTick: number): number {
    const id = this.#nextId++
    this.#timers.set(id, this.#timer(dueTick))
    return id
  }

  move(id: number, dueTick: number): boolean {
    if (!this.#timers.has(id)) return false
    this.#timers.set(id, this.#timer(dueTick))
    return true
  }

  cancel(id: number): boolean {
    return this.#timers.delete(id)
  }

  dueTickOf(id: number): number | undefined {
    return this.#timers.get(id)?.dueTick
  }

  earliest(): number | undefined {
    let earliest: number | undefined
    for (const { dueTick } of this.#timers.values()) earliest = Math.min(earliest ?? Infinity, dueTick)
    return earliest
  }

  beginAdvance(tick: number): void {
    this.#advance++
    this.#until = tick
  }

  /** The due tick that must fire next in this advance, or undefined when all has been fired. */
  expected(): number | undefined {
    let earliest: number | undefined
    for (const { dueTick, notBefore } of this.#timers.values()) {
      if (dueTick <= this.#until! && notBefore <= this.#advance)
        earliest = Math.min(earliest ?? Infinity, dueTick)
    }
    return earliest
  }

  /** Notes that a timer fired; answers whether it may. */
  fired(id: number, dueTick: number): boolean {
    const timer = this.#timers.get(id)
    const isRight =
      timer !== undefined &&
      timer.dueTick === dueTick &&
      timer.notBefore <= this.#advance &&
      dueTick === this.expected()
    this.#timers.delete(id)
    this.tick = Math.max(this.tick, dueTick)
    return isRight
  }

  /** Ends an advance; an aborted one stays at the tick that was being fired. */
  endAdvance(isAborted: boolean): void {
    if (!isAborted) this.tick = this.#until!
    this.#until = undefined
  }

  #timer(dueTick: number): Timer {
    // Inside an advance, what is not later than the tick being fired waits for the next.
    const waits = this.#until !== undefined && dueTick <= this.tick
    return { dueTick, notBefore: waits ? this.#advance + 1 : 0 }
  }
}

interface Timer {
  readonly dueTick: number
  /** The first advance it may fire in. */
  readonly notBefore: number
}
