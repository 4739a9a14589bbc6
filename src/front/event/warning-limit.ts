import type { Clock } from '../../time/index.js'
import { MOST_WARNING_CAUSES } from '../defaults.js'

/** Lets a warning through, unless one of the same cause went through within `repeatMs`. Counts those it leaves out. */
export class WarningLimit {
  readonly #clock: Clock
  readonly #repeatMs: number
  readonly #causes = new Map<string, { at: number; leftOut: number }>()

  constructor(clock: Clock, repeatMs: number) {
    this.#clock = clock
    this.#repeatMs = repeatMs
  }

  pass(cause: string, write: (leftOut: number, isFirst: boolean) => void): void {
    const now = this.#clock.monotonic()
    const last = this.#causes.get(cause)
    if (last !== undefined && now - last.at < this.#repeatMs) {
      last.leftOut++
      return
    }
    // Delete first: the oldest cause must be the first of the map.
    this.#causes.delete(cause)
    this.#causes.set(cause, { at: now, leftOut: 0 })
    for (const oldest of this.#causes.keys()) {
      if (this.#causes.size <= MOST_WARNING_CAUSES) break
      this.#causes.delete(oldest)
    }
    write(last?.leftOut ?? 0, last === undefined)
  }
}

/** What a warning says about those that were left out before it. */
export function leftOutText(leftOut: number): string {
  return leftOut === 0 ? '' : ` (and ${leftOut} more like this since the last warning)`
}
