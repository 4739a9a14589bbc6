import type { Clock, Wake } from '../../time/index.js'
import type { Window } from '../load/window.js'

/** A row that the wheel gave out before its due time by the store's clock, which must have been set back. */
interface EarlyRow {
  readonly token: number
  readonly revision: number
  readonly dueAt: number
}

/** Wakes a shard when its next timer is due: the next in the wheel, or one that the wheel gave out too early. */
export class DueAlarm {
  readonly #clock: Clock
  readonly #window: Window
  readonly #onDue: () => void
  #early: EarlyRow[] = []
  #wake: Wake | undefined
  #wakeAt = Infinity

  constructor(clock: Clock, window: Window, onDue: () => void) {
    this.#clock = clock
    this.#window = window
    this.#onDue = onDue
  }

  addEarly(token: number, revision: number, dueAt: number): void {
    this.#early.push({ token, revision, dueAt })
  }

  get hasEarly(): boolean {
    return this.#early.length > 0
  }

  /** Takes the early rows that are still in memory where they were. */
  *takeEarly(): Generator<number, void, undefined> {
    const early = this.#early
    this.#early = []
    for (const { token, revision } of early) {
      // If the row was cancelled meanwhile, its token may be that of another row by now.
      const page = this.#window.page(token)
      if (page?.revisions[this.#window.index(token)] === revision) yield token
    }
  }

  /** Sets the alarm for what is next. */
  set(): void {
    let next = this.#window.nextDue() ?? Infinity
    for (const { dueAt } of this.#early) next = Math.min(next, dueAt)
    if (next === this.#wakeAt) return
    this.#wake?.cancel()
    this.#wakeAt = next
    this.#wake =
      next === Infinity
        ? undefined
        : this.#clock.wakeAt(next, () => {
            this.#wakeAt = Infinity
            this.#onDue()
          })
  }

  cancel(): void {
    this.#wake?.cancel()
    this.#wake = undefined
    this.#wakeAt = Infinity
  }
}
