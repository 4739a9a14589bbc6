/**
 * The first word of a shared record: state, owner and generation, so that one compare-and-set changes all three.
 * Whoever owns the record may write its other fields. The generation rises whenever the timer gets a due time, so a
 * compare-and-set fails if the timer was changed since the word was read.
 */
export const recordState = Object.freeze({
  /** Never used, or handed back to the pool. */
  EMPTY: 0,
  SCHEDULED: 1,
  /** Its owner is writing a new due time. */
  MOVING: 2,
  /** Cancelled. The owner has yet to notice, and to free the record. */
  CANCELLED: 3,
  /** Its task has started and has not ended. */
  FIRING: 4,
  /** Its task has ended. The record is free. */
  FIRED: 5,
  /** Cancelled, and its owner has freed the record. */
  REMOVED: 6,
} as const)

const STATE_MASK = 7
const OWNER_SHIFT = 3
const OWNER_MASK = 0x7ff
const GENERATION_SHIFT = 14
const GENERATIONS = 1 << 18

export function wordOf(state: number, owner: number, generation: number): number {
  return (generation << GENERATION_SHIFT) | (owner << OWNER_SHIFT) | state
}

export function stateOf(word: number): number {
  return word & STATE_MASK
}

export function ownerOf(word: number): number {
  return (word >>> OWNER_SHIFT) & OWNER_MASK
}

/** The same word in another state. */
export function inState(word: number, state: number): number {
  return (word & ~STATE_MASK) | state
}

/** The word of a free record that belongs to this owner. */
export function freeWord(word: number, owner: number): number {
  return wordOf(recordState.EMPTY, owner, word >>> GENERATION_SHIFT)
}

/** The same word with another state and owner, and with the next generation. */
export function next(word: number, state: number, owner: number): number {
  return wordOf(state, owner, ((word >>> GENERATION_SHIFT) + 1) % GENERATIONS)
}
