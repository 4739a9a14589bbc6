/**
 * The promises of a wheel, in the simplest possible form: all timers are in a map, and it finds the earliest by looking
 * at all of them. A test passes it what the real wheel fires, and it says whether that was right.
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

  /** The due tick that must fire next in this advance, or undefined if none is left. */
  expected(): number | undefined {
    let earliest: number | undefined
    for (const { dueTick, notBefore } of this.#timers.values()) {
      if (dueTick <= this.#until! && notBefore <= this.#advance)
        earliest = Math.min(earliest ?? Infinity, dueTick)
    }
    return earliest
  }

  /** Records that a timer fired. Returns whether it may. */
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

  /** Ends an advance. An aborted one stays at the tick that was being fired. */
  endAdvance(isAborted: boolean): void {
    if (!isAborted) this.tick = this.#until!
    this.#until = undefined
  }

  #timer(dueTick: number): Timer {
    // Inside an advance, a timer that is not due after the tick being fired waits for the next advance.
    const waits = this.#until !== undefined && dueTick <= this.tick
    return { dueTick, notBefore: waits ? this.#advance + 1 : 0 }
  }
}

interface Timer {
  readonly dueTick: number
  /** The first advance in which it may fire. */
  readonly notBefore: number
}
