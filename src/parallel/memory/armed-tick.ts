/**
 * A tick in one word: its low 31 bits, and a bit that says that there is one. 0 is none. Two armed ticks can be compared
 * if they are less than 2^30 ticks apart: 29 hours, with ticks of 100 microseconds.
 */
const REACH = 2 ** 29

/** Arms a tick. One that is too far away becomes the farthest that can be compared. */
export function armed(tick: number, now: number): number {
  // `tick` may exceed 32 bits: the modulus keeps the low ones.
  return ((Math.min(tick, now + REACH) % 2 ** 31) * 2 + 1) | 0
}

/** How many ticks the first is after the second. */
export function ticksBetween(later: number, earlier: number): number {
  return ((later - earlier) | 0) >> 1
}
