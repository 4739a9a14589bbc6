import { DAY_S, modulo } from '../calendar/calendar.js'
import { formatClock } from './wall-text.js'

const MAX_TEXTS = 256

const ZERO = 48
const ZEROS = ZERO * 11
const COLON = 58
const COMMA = 44

/** `format` is a bound function: it can be called without its object. */
interface Formatter {
  readonly format: (ms: number) => string
  resolvedOptions(): { readonly timeZone: string }
}

/**
 * Reads a zone's offsets from `Intl`, the only source of zone rules. The constructor throws a RangeError for
 * an unknown zone.
 *
 * Proven by test/schedule/probe-changes.test.ts.
 */
export class IntlOffsets {
  /** The zone's name as Intl spells it. */
  readonly zone: string
  readonly #format: (ms: number) => string
  readonly #clockTexts = new Map<number, string>()

  constructor(zone: string) {
    const formatter: Formatter = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    this.zone = formatter.resolvedOptions().timeZone
    // Read the getter once: each read of `formatter.format` is a function call.
    this.#format = formatter.format
  }

  /** Returns the offset at an epoch second. */
  at(second: number): number {
    return parseOffset(this.#format(second * 1000), second)
  }

  /**
   * Returns the offset at an epoch second, faster if `likely` is right. It also returns `likely` for an
   * offset that differs from it by whole days.
   */
  atWithGuess(second: number, likely: number): number {
    const text = this.#format(second * 1000)
    return text.endsWith(this.#clockText(second, likely)) ? likely : parseOffset(text, second)
  }

  /**
   * Whether the zone has this offset, or one that differs by whole days. It compares strings instead of
   * parsing them. Most calls ask for a few times of day, so their strings are cached. In a new process this
   * takes a fraction of the time.
   */
  hasOffset(second: number, offset: number): boolean {
    return this.#format(second * 1000).endsWith(this.#clockText(second, offset))
  }

  #clockText(second: number, offset: number): string {
    const time = modulo(second + offset, DAY_S)
    let text = this.#clockTexts.get(time)
    if (text === undefined) {
      if (this.#clockTexts.size >= MAX_TEXTS) this.#clockTexts.clear()
      text = formatClock(time)
      this.#clockTexts.set(time, text)
    }
    return text
  }

  /** Whether clocks show a time such as '09:00:30'. Comparing strings is faster than parsing. */
  shows(second: number, time: string): boolean {
    return this.#format(second * 1000).endsWith(time)
  }

  /** Whether clocks show this time on this day of the month. */
  showsOn(second: number, day: number, time: string): boolean {
    return this.#format(second * 1000) === `${day}, ${time}`
  }
}

/** Computes the offset from the text that Intl writes for an epoch second. */
function parseOffset(text: string, second: number): number {
  const length = text.length
  // The text is '4, 09:00:30' or '14, 09:00:30'. It is parsed without a loop, because most calls come before
  // V8 has compiled anything.
  const isAsExpected =
    ((text.charCodeAt(length - 3) ^ COLON) |
      (text.charCodeAt(length - 6) ^ COLON) |
      (text.charCodeAt(length - 10) ^ COMMA)) ===
    0
  // A one-digit day has no character here. `charCodeAt` then returns NaN, which `
  //
  // 0` turns into 0.
  const tens = ((text.charCodeAt(length - 12) - ZERO) * 10) | 0
  const day = tens + text.charCodeAt(length - 11) - ZERO
  const hour = text.charCodeAt(length - 8) * 10 + text.charCodeAt(length - 7) - ZEROS
  const minute = text.charCodeAt(length - 5) * 10 + text.charCodeAt(length - 4) - ZEROS
  const time =
    hour * 3600 + minute * 60 + text.charCodeAt(length - 2) * 10 + text.charCodeAt(length - 1) - ZEROS
  // Each factor is negative if its value is out of bounds.
  const within = Math.min((day - 1) * (31 - day), time * (DAY_S - 1 - time), 12 - length)
  if (!(isAsExpected && within >= 0)) {
    throw new Error(`Intl wrote ${text}, expected day, hour:minute:second`)
  }
  // The day of the month is enough to tell yesterday, today and tomorrow apart.
  let days = day - new Date(second * 1000).getUTCDate()
  if (Math.abs(days) > 1) days = -Math.sign(days)
  return days * DAY_S + time - (second - Math.floor(second / DAY_S) * DAY_S)
}
