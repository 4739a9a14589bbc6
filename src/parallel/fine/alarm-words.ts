import { armed, ticksBetween } from '../memory/armed-tick.js'

/** The words that a clock shares with its thread. */
export const alarmWords = Object.freeze({
  /** The next alarm: an armed millisecond of wall time, or `NO_ALARM`. */
  NEXT: 0,
  /** How many alarms the thread has sent, and how late the latest of them was at most, in microseconds. */
  SENT: 1,
  MAX_DELAY: 2,
  WORDS: 3,
} as const)

export const NO_ALARM = 0

/** A millisecond of wall time in one word. */
export function alarmAt(dueAt: number, now: number): number {
  return armed(dueAt, now)
}

/** How many milliseconds are left until an alarm. */
export function msUntil(alarm: number, now: number): number {
  return ticksBetween(alarm, armed(now, now))
}
