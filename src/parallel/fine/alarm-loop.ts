import type { Clock } from '../../time/index.js'
import { alarmWords, msUntil, NO_ALARM } from './alarm-words.js'

const { NEXT, SENT, MAX_DELAY } = alarmWords

/**
 * How long before an alarm the thread stops sleeping and watches the wall clock. A kernel wakes a sleeper some 60 to 80
 * microseconds late, so the thread usually watches for a few ten microseconds.
 */
const LEAD_MS = 0.1

/** After this time, what was found about the wall clock may be wrong: time daemons speed it up and slow it down. */
const WATCH_EVERY_MS = 1000

/** If two readings of the clock are farther apart, the thread did something else, or nothing, between them. */
const DISTURBED_MS = 0.02

/**
 * The loop of the thread that wakes a fine clock. It sleeps until shortly before the next alarm, and then watches the
 * wall clock until that shows the alarm's millisecond. This also tells when a millisecond of wall time begins, which one
 * reading of the wall clock does not. From this follows how long to sleep the next time.
 *
 * Proven by test/parallel/fine-clock.test.ts.
 */
export class AlarmLoop {
  readonly #words: Int32Array
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  readonly #wake: () => void
  /** Monotonic time at which a millisecond of wall time began, and when that was found. */
  #millisecondAt = 0
  #watchedAt = -Infinity

  constructor(words: Int32Array, clock: Pick<Clock, 'now' | 'monotonic'>, wake: () => void) {
    this.#words = words
    this.#clock = clock
    this.#wake = wake
  }

  /** Waits for the next alarm, or until another one is set. Blocks the thread. */
  beat(): void {
    const words = this.#words
    const alarm = Atomics.load(words, NEXT)
    if (alarm === NO_ALARM) {
      Atomics.wait(words, NEXT, NO_ALARM)
      return
    }
    const left = msUntil(alarm, this.#clock.now())
    if (left <= 0) {
      // If another alarm was set meanwhile, this one was cancelled.
      if (Atomics.compareExchange(words, NEXT, alarm, NO_ALARM) !== alarm) return
      this.#wake()
      this.#count(-left)
      return
    }
    const now = this.#clock.monotonic()
    const sleepMs = left - this.#sinceMillisecond(now) - LEAD_MS
    const isKnown = now - this.#watchedAt < WATCH_EVERY_MS
    if (isKnown && sleepMs > 0) Atomics.wait(words, NEXT, alarm, sleepMs)
    else this.#watch(alarm)
  }

  /** How much of the present millisecond of wall time has passed. */
  #sinceMillisecond(now: number): number {
    return (now - this.#millisecondAt) % 1
  }

  #count(lateMs: number): void {
    const words = this.#words
    const micros = Math.round((lateMs + this.#sinceMillisecond(this.#clock.monotonic())) * 1000)
    Atomics.add(words, SENT, 1)
    if (micros > Atomics.load(words, MAX_DELAY)) Atomics.store(words, MAX_DELAY, micros)
  }

  /** Watches the wall clock until its next millisecond begins, or until another alarm is set. */
  #watch(alarm: number): void {
    const wall = this.#clock.now()
    let last = this.#clock.monotonic()
    for (;;) {
      const hasBegun = this.#clock.now() !== wall
      const now = this.#clock.monotonic()
      if (hasBegun) {
        if (now - last < DISTURBED_MS) {
          this.#millisecondAt = now
          this.#watchedAt = now
        }
        return
      }
      last = now
      if (Atomics.load(this.#words, NEXT) !== alarm) return
    }
  }
}
