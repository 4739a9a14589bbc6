import { freeWord, inState, next, ownerOf, recordState, stateOf } from './record-word.js'
import type { RecordMemory } from './shared-words.js'

const { SCHEDULED, MOVING, CANCELLED, FIRING, FIRED, REMOVED } = recordState

/** The words of a record. Doubles take two words. */
export const recordLayout = Object.freeze({
  WORD: 0,
  /** Counts the timers that have used the record. A handle names one of them. */
  USE: 1,
  DUE: 2,
  TASK: 4,
  /** The next record of a list of free records, plus one. */
  LINK: 5,
  PAYLOAD: 6,
  WORDS: 8,
} as const)

const { WORD, USE, DUE } = recordLayout

/** What became of a change by another thread than the owner, or of one that met another change. */
export type Changed = 'done' | 'cancelled' | 'gone' | 'busy'

/**
 * The life of a timer in shared memory, as transitions of its record. Any thread may cancel. Only the owner starts the
 * task and frees the record. Any thread with a wheel may become the owner, by moving the timer to itself.
 *
 *     free ──schedule──▶ SCHEDULED ──begin──▶ FIRING ──end──▶ FIRED (free)
 *                         │  ▲  │
 *                   move, │  │  └──cancel──▶ CANCELLED ──remove──▶ REMOVED (free)
 *                   adopt ▼  │                ▲
 *                        MOVING ────cancel────┘
 *
 * Proven by test/parallel/model.test.ts, which runs these methods in every interleaving of small cases.
 */
export class TimerRecords {
  readonly #memory: RecordMemory
  readonly #stride: number

  /** `stride` is the size of a record in words. */
  constructor(memory: RecordMemory, stride: number = recordLayout.WORDS) {
    this.#memory = memory
    this.#stride = stride
  }

  word(index: number): number {
    return this.#memory.load(index * this.#stride + WORD)
  }

  use(index: number): number {
    return this.#memory.load(index * this.#stride + USE)
  }

  due(index: number): number {
    return this.#memory.readDouble(index * this.#stride + DUE)
  }

  /** Makes a free record of this owner a timer. Its other fields must be written before. Returns its use. */
  schedule(index: number, owner: number, due: number): number {
    const memory = this.#memory
    const at = index * this.#stride
    const use = memory.read(at + USE) + 1
    // Before the word, which is stored atomically: a thread that sees the new word sees the new use, too.
    memory.write(at + USE, use)
    memory.writeDouble(at + DUE, due)
    memory.store(at + WORD, next(memory.read(at + WORD), SCHEDULED, owner))
    return use
  }

  /** Cancels a timer. Answers the owner that has to free its record, or -1 if it is too late. */
  cancel(index: number, use: number): number {
    const memory = this.#memory
    const at = index * this.#stride
    for (;;) {
      const word = memory.load(at + WORD)
      const state = stateOf(word)
      if (state !== SCHEDULED && state !== MOVING) return -1
      // After the word: if the record was reused since, the use or the word has changed.
      if (memory.load(at + USE) !== use) return -1
      if (memory.replace(at + WORD, word, inState(word, CANCELLED))) return ownerOf(word)
    }
  }

  /**
   * Gives a timer another due time and makes `owner` its owner. `cancelled` means that it was cancelled meanwhile, and
   * that `owner` now has to remove it. `busy` means that another thread is moving it.
   */
  move(index: number, use: number, owner: number, due: number): Changed {
    const memory = this.#memory
    const at = index * this.#stride
    for (;;) {
      const word = memory.load(at + WORD)
      const state = stateOf(word)
      if (state !== SCHEDULED && state !== MOVING) return 'gone'
      if (memory.load(at + USE) !== use) return 'gone'
      // Two threads that write a due time at once could each overwrite the other's.
      if (state === MOVING) return 'busy'
      const moving = next(word, MOVING, owner)
      if (!memory.replace(at + WORD, word, moving)) continue
      memory.writeDouble(at + DUE, due)
      return this.#arrive(at, moving)
    }
  }

  /** Makes `owner` the owner of a timer whose last owner is gone. `word` is what was seen then: nobody has changed it. */
  adopt(index: number, word: number, owner: number): Changed {
    const memory = this.#memory
    const at = index * this.#stride
    const state = stateOf(word)
    if (state !== SCHEDULED && state !== MOVING) return 'gone'
    const moving = next(word, MOVING, owner)
    if (!memory.replace(at + WORD, word, moving)) return 'gone'
    return this.#arrive(at, moving)
  }

  #arrive(at: number, moving: number): Changed {
    if (this.#memory.replace(at + WORD, moving, inState(moving, SCHEDULED))) return 'done'
    return 'cancelled'
  }

  /** Starts the task of a due timer. Answers false if the timer is not to be started here and now. */
  begin(index: number, owner: number, now: number): boolean {
    const memory = this.#memory
    const at = index * this.#stride
    const word = memory.load(at + WORD)
    if (stateOf(word) !== SCHEDULED || ownerOf(word) !== owner) return false
    // Only the owner writes the due time.
    if (memory.readDouble(at + DUE) > now) return false
    return memory.replace(at + WORD, word, inState(word, FIRING))
  }

  /** The task has ended: the record is free. */
  end(index: number): void {
    this.#set(index, FIRED)
  }

  /** Frees the record of a timer that this owner finds cancelled. Answers false if it is not, or not this owner's. */
  remove(index: number, owner: number): boolean {
    const word = this.word(index)
    if (stateOf(word) !== CANCELLED || ownerOf(word) !== owner) return false
    this.#set(index, REMOVED)
    return true
  }

  /**
   * Gives a free record to an owner. No other thread changes a free record, and the list of free records orders this for
   * the thread that takes it next.
   */
  assign(index: number, owner: number): void {
    const memory = this.#memory
    const at = index * this.#stride + WORD
    memory.write(at, freeWord(memory.read(at), owner))
  }

  // No other thread changes a record in these states.
  #set(index: number, state: number): void {
    const memory = this.#memory
    const at = index * this.#stride + WORD
    memory.store(at, inState(memory.read(at), state))
  }
}
