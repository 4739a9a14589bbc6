import { DAY_S, modulo } from './calendar.js'

/** Whether clocks are ahead of UTC by an offset at an epoch second, as long as it may take to say. */
export type KeepsOffset = (second: number, offset: number) => boolean

const QUARTER_S = 900

// Governments change clocks at midnight, at two, at three; the rest is rare.
const MOST_TIMES = 4

const NONE: readonly number[] = []

/**
 * Finds single changes of a zone's offset with as few questions as it can: where somebody guesses, then on the day,
 * soonest those that come at the time of day of one that was found before. Every question, good or bad, leaves a
 * shorter stretch, so that a wrong guess costs one of them and nothing else.
 */
export class ChangeFinder {
  readonly #keeps: KeepsOffset
  /** Times of day of changes that were found, on the clocks that they changed, the last one first. */
  readonly #times: number[] = []
  /** The same for the last change that left an offset. */
  readonly #timeOf = new Map<number, number>()

  constructor(keeps: KeepsOffset) {
    this.#keeps = keeps
  }

  /** The first second after `before`, and not after `after`, at which the offset is no longer `offset`. */
  find(before: number, after: number, offset: number, guesses: readonly number[] = NONE): number {
    const at = this.#search(before, after, offset, guesses)
    const time = modulo(at + offset, DAY_S)
    if (this.#timeOf.get(offset) !== time) {
      this.#timeOf.set(offset, time)
      const known = this.#times.indexOf(time)
      this.#times.splice(known < 0 ? MOST_TIMES - 1 : known, 1)
      this.#times.unshift(time)
    }
    return at
  }

  #search(before: number, after: number, offset: number, guesses: readonly number[]): number {
    const keeps = this.#keeps
    // The change lies after `same` and not after `changed`, whatever is asked.
    let same = before
    let changed = after
    for (const guess of guesses) {
      if (guess <= same || guess > changed) continue
      if (guess < changed && keeps(guess, offset)) same = guess
      else if (guess - 1 === same || keeps(guess - 1, offset)) return guess
      else changed = guess - 1
    }
    const time = (this.#timeOf.get(offset) ?? this.#times[0] ?? 0) - offset
    let low = Math.floor((same - time) / DAY_S)
    let high = Math.ceil((changed - time) / DAY_S)
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (keeps(middle * DAY_S + time, offset)) low = middle
      else high = middle
    }
    same = Math.max(low * DAY_S + time, same)
    changed = Math.min(high * DAY_S + time, changed)
    if (changed - 1 === same || keeps(changed - 1, offset)) return changed
    changed--
    for (const other of this.#times) {
      const guess = changed - modulo(changed + offset - other, DAY_S)
      if (guess <= same) continue
      if (guess < changed && keeps(guess, offset)) same = guess
      else if (guess - 1 === same || keeps(guess - 1, offset)) return guess
      else changed = guess - 1
    }
    return this.#searchDay(same, changed, offset)
  }

  #searchDay(before: number, after: number, offset: number): number {
    const keeps = this.#keeps
    // Clocks change on the quarter of an hour nearly everywhere: half the questions suffice to find those.
    let low = Math.floor(before / QUARTER_S)
    let high = Math.ceil(after / QUARTER_S)
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (keeps(middle * QUARTER_S, offset)) low = middle
      else high = middle
    }
    let same = Math.max(low * QUARTER_S, before)
    let changed = Math.min(high * QUARTER_S, after)
    if (keeps(changed - 1, offset)) return changed
    while (changed - same > 1) {
      const middle = Math.floor((same + changed) / 2)
      if (keeps(middle, offset)) same = middle
      else changed = middle
    }
    return changed
  }
}
