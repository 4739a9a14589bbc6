import { checkFunction, checkOptions, InvalidInputError, shown, StateError } from '../error/index.js'
import { catchUp } from './catch-up.js'
import { FarList } from './far-list.js'
import { ticksToNextStop } from './next-stop.js'
import { OverdueList } from './overdue-list.js'
import { recordLayout } from './record-layout.js'
import { type Handle, RecordTable } from './record-table.js'
import { Scrub } from './scrub.js'
import { slotLayout, SlotTable } from './slot-table.js'

const { MAX_TIMERS, STATE_SPAN, STATE, OWN, OVERDUE, WIDE, LAZY, ABOVE_LAZY, ARMED, FLAGS } = recordLayout
const { ENTRIES, TAKEN_IS_MANY } = slotLayout

/** Receives a timer that fires: its token and its due tick. */
export type Fire = (token: number, dueTick: number) => void

/** Receives the tokens of timers, a few at a time, right before they fire. */
export type Near = (token: number) => void

/** The options of a `Wheel`. */
export interface WheelOptions {
  /** The first tick of the wheel. Default 0. */
  readonly startTick?: number
  /** Allocates room for this many timers in advance. Default 0. */
  readonly reserve?: number
}

/** What a wheel holds at the moment. */
export interface WheelStats {
  /** Pending timers. */
  readonly size: number
  /** Timers that fit before the wheel grows. */
  readonly capacity: number
  /** Entries in the slots: one per timer, plus those that cancelled and moved timers left behind. */
  readonly entries: number
  /** The memory of the wheel, in bytes. */
  readonly bytes: number
}

const ALL = 0x7fff_ffff
const LAST_TICK = Number.MAX_SAFE_INTEGER
// Flags of a timer that is not in the levels, and the mask for its state once it is.
const ASIDE = WIDE | OVERDUE
const QUEUED = ~(LAZY | ASIDE)
// The share of moves to a later tick, as a moving average over about 2^7 moves. Each such move adds 2^9.
const ONE_LATER = 9
const OF_MOVES = 7
const ALL_LATER = 1 << (ONE_LATER + OF_MOVES)
const MOSTLY_LATER = (ALL_LATER >> 2) * 3

/**
 * A hierarchical timing wheel with integer ticks. It knows no clock, no store and no promise, only `advance(tick)`.
 * Nothing fires early, and every due timer fires, in the order of due ticks. Set, move and cancel are O(1) and allocate
 * nothing. Skipped idle ticks cost nothing.
 *
 * A cancelled or moved timer leaves an entry behind, which is recognised as stale when its slot comes up. Every advance
 * removes a few such entries (`Scrub`), so that their number stays in proportion to the timers.
 *
 * Proven by test/wheel/wheel.test.ts, and by test/wheel/wheel-differential.test.ts against a naive wheel.
 */
export class Wheel {
  // Every field starts with a value of its final type (Infinity for one that may outgrow a small integer): V8 then
  // omits its type checks.
  readonly #records = new RecordTable()
  readonly #slots = new SlotTable()
  readonly #overdue = new OverdueList(this.#records)
  readonly #far = new FarList(this.#records, this.#slots)
  readonly #scrub = new Scrub(this.#records, this.#slots, this.#far)
  #now = 0
  #later = ALL_LATER
  #busy = false
  // The due tick being fired. Timers that are due then or later may be out of the slots and not fired yet.
  #inHand = Infinity

  constructor(options: WheelOptions = {}) {
    checkOptions('Wheel', options, ['startTick', 'reserve'])
    const { startTick = 0, reserve = 0 } = options
    checkTick('startTick', startTick)
    if (!(Number.isSafeInteger(reserve) && reserve >= 0 && reserve <= MAX_TIMERS)) {
      throw new InvalidInputError(
        'invalid-option',
        `reserve must be an integer from 0 to ${MAX_TIMERS}, got ${shown(reserve)}`,
      )
    }
    if (reserve > 0) {
      this.#records.reserve(reserve)
      // Plus some for chunks that are not full, and for entries that moved timers leave behind.
      this.#slots.reserve(reserve * 1.15)
    }
    this.#goTo(startTick)
  }

  /** The current tick: that of the last advance, or of the timer being fired. */
  get tick(): number {
    return this.#now
  }

  /** The number of pending timers. */
  get size(): number {
    return this.#records.size
  }

  /** Sets a timer. If it is due at or before the wheel's tick, it fires at the start of the next advance. */
  set(dueTick: number, token: number): Handle {
    // Keep this small, like move, cancel and the methods they call, so that V8 inlines them into their caller. If it
    // does not, it allocates a number on the heap for each handle that is passed.
    if (typeof dueTick !== 'number' || typeof token !== 'number') return this.#setUncommon(dueTick, token)
    const records = this.#records
    const distance = dueTick - this.#now
    if (
      (distance | 0) !== distance ||
      distance <= 0 ||
      dueTick > LAST_TICK ||
      (token | 0) !== token ||
      token < 0 ||
      records.freeBits === 0
    ) {
      return this.#setUncommon(dueTick, token)
    }
    const due = dueTick | 0
    const index = records.take()
    const generation = records.arm(index, token, due)
    this.#slots.enqueue(index, due)
    return generation * STATE_SPAN + index
  }

  /** Sets a timer whose token is its own index, for callers that keep data per timer in arrays. */
  setIndexed(dueTick: number): Handle {
    const handle = this.set(dueTick, 0)
    const index = this.#records.find(handle)
    this.#records.ownToken(index)
    return handle
  }

  /** The index of a pending timer, unique among those pending and below the capacity; -1 if the timer is gone. */
  indexOf(handle: Handle): number {
    return this.#records.find(handle)
  }

  /** Gives a timer another due tick. Its handle stays valid. False if the timer is gone. */
  move(handle: Handle, dueTick: number): boolean {
    return this.#moveTo(this.#records.find(handle), dueTick)
  }

  /** Like `move`, for the timer at an index. */
  moveAt(index: number, dueTick: number): boolean {
    return this.#moveTo(this.#records.isArmed(index) ? index : -1, dueTick)
  }

  /** Removes a timer. False if it is gone already. */
  cancel(handle: Handle): boolean {
    return this.#records.cancel(handle)
  }

  /** Like `cancel`, for the timer at an index. */
  cancelAt(index: number): boolean {
    const records = this.#records
    if (!records.isArmed(index)) return false
    records.release(index)
    return true
  }

  /**
   * A move to a later tick needs no new entry: the old one comes up earlier and finds the timer. But whether a move
   * goes later is known only once its record has come from memory. If that is a toss-up, the processor mispredicts half
   * of the branches and each time waits for the record. Queuing an entry for every move is then a quarter faster. So
   * the old entry is reused only while most moves go later.
   */
  #moveTo(index: number, dueTick: number): boolean {
    const slots = this.#slots
    const distance = typeof dueTick === 'number' ? dueTick - this.#now : 0
    if (
      (distance | 0) !== distance ||
      distance <= 0 ||
      dueTick > LAST_TICK ||
      index < 0 ||
      slots.taken > TAKEN_IS_MANY
    ) {
      return this.#moveUncommon(index, dueTick)
    }
    const { words } = this.#records
    const at = index << 1
    const stateAt = at | STATE
    const due = dueTick | 0
    const state = words[stateAt]!
    const sooner = (words[at]! - due) | 0
    const later = this.#later
    this.#later = later - (later >> OF_MOVES) + ((sooner >>> 31) << ONE_LATER)
    words[at] = due
    if ((state & ASIDE) === 0) {
      if (sooner === 0) return true
      if (later > MOSTLY_LATER && sooner < 0) {
        words[stateAt] = state | LAZY
        return true
      }
    }
    words[stateAt] = state & QUEUED
    slots.enqueue(index, due)
    return true
  }

  #moveUncommon(index: number, dueTick: number): boolean {
    checkTick('dueTick', dueTick)
    if (index < 0) return false
    this.#scrub.betweenAdvances(this.#now)
    this.#place(index, dueTick)
    return true
  }

  /**
   * Moves the wheel to `tick` and fires all timers that are due by then, overdue ones first. Returns how many fired.
   *
   * `fire` may set, move and cancel. A timer that it makes due after the tick being fired and within this advance fires
   * in this advance. An earlier one fires in the next. If `fire` throws, the wheel stays at that tick, and the timers
   * that have not fired do so in the next advance.
   *
   * `near` receives up to 15 tokens of a tick before the first of them fires, except those of overdue timers. A caller
   * that reads the data of each then waits for memory once, not once per timer. Some of them may not fire after all.
   */
  advance(tick: number, fire: Fire, near?: Near): number {
    checkTick('tick', tick)
    checkFunction('fire', fire)
    if (near !== undefined) checkFunction('near', near)
    if (tick < this.#now) {
      throw new InvalidInputError(
        'tick-went-back',
        `the wheel is at tick ${this.#now} and cannot go back to ${tick}`,
      )
    }
    this.#begin('advance')
    try {
      let fired = this.#overdue.places === 0 ? 0 : this.#fireOverdue(fire)
      while (this.#records.size !== 0) {
        const next = this.#now + ticksToNextStop(this.#slots)
        const far = this.#far.lastCall
        if (far < next && far <= tick) {
          this.#goTo(Math.max(far, this.#now))
          this.#far.visitAll(this.#now)
        } else if (next <= tick) {
          this.#goTo(next)
          fired += this.#fireHere(fire, near)
          if (next === tick) break
        } else {
          break
        }
      }
      this.#goTo(tick)
      if (this.#records.size !== 0) this.#workAhead()
      else this.#forgetEntries()
      return fired
    } finally {
      this.#busy = false
      this.#inHand = Infinity
    }
  }

  /**
   * The next tick to advance to; undefined exactly if no timer is pending. It is never later than the earliest due
   * tick. It may be earlier if timers have yet to be spread to finer slots.
   */
  nextDue(): number | undefined {
    if (this.#records.size === 0) return undefined
    const next = this.#now + ticksToNextStop(this.#slots)
    return Math.min(this.#inHand, this.#overdue.earliest, next, this.#far.earliest)
  }

  /** Removes every timer that is pending now and passes it to `fn`, in no particular order. */
  drain(fn: Fire): void {
    checkFunction('drain', fn)
    this.#begin('drain')
    try {
      const records = this.#records
      for (const handle of records.handles()) {
        const index = records.find(handle)
        // `fn` may have cancelled it.
        if (index < 0) continue
        const dueTick = this.#dueTickOf(index)
        const token = records.tokenOf(index)
        records.release(index)
        fn(token, dueTick)
      }
    } finally {
      this.#busy = false
    }
  }

  stats(): WheelStats {
    const records = this.#records
    const slots = this.#slots
    return {
      size: records.size,
      capacity: records.capacity,
      entries: slots.countEntries() + this.#overdue.places,
      bytes: records.bytes + slots.bytes + this.#overdue.bytes,
    }
  }

  #begin(what: string): void {
    if (this.#busy) throw new StateError('wheel-busy', `${what} was called inside fire: call it afterwards`)
    this.#busy = true
  }

  #goTo(tick: number): void {
    const low = tick | 0
    this.#slots.low = low
    // V8 keeps it as a small integer for as long as it is one.
    this.#now = low === tick ? low : tick
  }

  #setUncommon(dueTick: number, token: number): Handle {
    checkTick('dueTick', dueTick)
    if (!(Number.isSafeInteger(token) && token >= 0)) {
      throw new InvalidInputError(
        'invalid-token',
        `a token must be an integer from 0 to 2^53 - 1, got ${shown(token)}`,
      )
    }
    this.#scrub.betweenAdvances(this.#now)
    const records = this.#records
    const index = records.armUncommon(token)
    this.#place(index, dueTick)
    return records.handleOf(index)
  }

  /** Puts an armed record where its due tick belongs: overdue, near or far. */
  #place(index: number, dueTick: number): void {
    const distance = dueTick - this.#now
    if (distance <= 0) {
      this.#overdue.add(index, dueTick)
    } else if ((distance | 0) !== distance) {
      this.#far.add(index, dueTick)
    } else {
      const { words } = this.#records
      const at = index << 1
      const due = dueTick | 0
      words[at] = due
      words[at | STATE]! &= QUEUED
      this.#slots.enqueue(index, due)
    }
  }

  #dueTickOf(index: number): number {
    const { words, wideDues } = this.#records
    const at = index << 1
    const state = words[at | STATE]!
    if ((state & OVERDUE) !== 0) return this.#overdue.dueTickOf(index)
    if ((state & WIDE) !== 0) return wideDues[index]!
    return this.#now + ((words[at]! - this.#slots.low) | 0)
  }

  /** Fires the timers that are due at this tick, after spreading the blocks that begin here. */
  #fireHere(fire: Fire, near: Near | undefined): number {
    const { low } = this.#slots
    if ((low & 0xff) === 0) {
      if ((low & 0xffff) === 0) {
        if ((low & 0xff_ffff) === 0) this.#cascade(1536 + (low >>> 24), ALL)
        this.#cascade(1024 + ((low >>> 16) & 511), ALL)
      }
      this.#cascade(512 + ((low >>> 8) & 511), ALL)
    }
    const slots = this.#slots
    const slot = low & 511
    this.#inHand = this.#now
    let fired = 0
    try {
      while (slots.tails[slot] !== 0) fired += this.#fireChunk(slot, fire, near)
      return fired
    } catch (error) {
      while (slots.tails[slot] !== 0) {
        const chunk = slots.front(slot)
        this.#postpone(chunk + ENTRIES, this.#collect(slot))
        slots.release(chunk)
      }
      throw error
    }
  }

  /** Takes the first chunk off a slot and fires the timers in it that are due now. */
  #fireChunk(slot: number, fire: Fire, near: Near | undefined): number {
    const records = this.#records
    const slots = this.#slots
    const tick = this.#now
    const chunk = slots.front(slot)
    const end = this.#collect(slot)
    let fired = 0
    let at = chunk + ENTRIES
    try {
      if (near !== undefined) this.#announce(at, end, near)
      while (at < end) {
        const { pool } = slots
        const index = pool[at]!
        const token = pool[at + 1]!
        at += 2
        if (this.#isDue(index)) {
          const whole = token < 0 ? records.tokenOf(index) : token
          records.release(index)
          fired++
          fire(whole, tick)
        } else {
          this.#keepLazy(index)
        }
      }
      return fired
    } catch (error) {
      this.#postpone(at, end)
      throw error
    } finally {
      slots.release(chunk)
    }
  }

  #announce(from: number, end: number, near: Near): void {
    const { pool } = this.#slots
    for (let at = from; at < end; at += 2) {
      const token = pool[at + 1]!
      near(token < 0 ? this.#records.tokenOf(pool[at]!) : token)
    }
  }

  /**
   * Takes the first chunk off a slot and leaves in it, as (index, token), the timers that are due now or were moved
   * later. Returns where they end. It reads all records before the first timer fires, so that their cache misses
   * overlap. It has no branch on whether an entry is stale: that is unpredictable, and a misprediction would wait for
   * the record to come from memory. Instead it writes every entry, and computes where the next one goes.
   */
  #collect(slot: number): number {
    const slots = this.#slots
    const { words, tokens } = this.#records
    const { pool, low } = slots
    const end = slots.frontEnd(slot)
    const chunk = slots.shift(slot)
    let kept = chunk | ENTRIES
    for (let at = kept; at < end; at += 2) {
      const index = pool[at]!
      const record = index << 1
      const state = words[record | STATE]!
      // 0 if it is due now.
      const difference = ((state & FLAGS) ^ ARMED) | (words[record]! ^ low)
      pool[kept] = index
      pool[kept | 1] = (state & OWN) !== 0 ? index : tokens[index]!
      const isStale = (difference | -difference) >> 31
      const isLazy = (state << ABOVE_LAZY) >> 31
      kept = (kept + (2 & (~isStale | isLazy))) | 0
    }
    return kept
  }

  /** Makes the timers of a chunk overdue that have not fired. */
  #postpone(from: number, end: number): void {
    const slots = this.#slots
    for (let at = from; at < end; at += 2) {
      const index = slots.pool[at]!
      if (this.#isDue(index)) this.#place(index, this.#now)
      else this.#keepLazy(index)
    }
  }

  /**
   * Whether a timer left in a chunk must still fire. It need not be compared with the state at collection: a timer that
   * is set or moved to the tick being fired is overdue, so none can have become due in the meantime.
   */
  #isDue(index: number): boolean {
    const { words } = this.#records
    const record = index << 1
    return (words[record | STATE]! & FLAGS) === ARMED && words[record] === this.#slots.low
  }

  /** Queues a timer that was moved later, perhaps by one that fired just now: the entry at hand was its only one. */
  #keepLazy(index: number): void {
    const records = this.#records
    if ((records.words[(index << 1) | STATE]! & LAZY) !== 0) catchUp(records, this.#slots, index)
  }

  #fireOverdue(fire: Fire): number {
    const records = this.#records
    const { indices, dueTicks, marks } = this.#overdue.take()
    let fired = 0
    let k = 0
    try {
      while (k < marks.length) {
        const index = indices[k]!
        const mark = marks[k]!
        const dueTick = dueTicks[k]!
        k++
        if (!this.#overdue.isCurrent(index, mark)) continue
        this.#inHand = dueTick
        const token = records.tokenOf(index)
        records.release(index)
        fired++
        fire(token, dueTick)
      }
      return fired
    } catch (error) {
      for (; k < marks.length; k++) {
        if (this.#overdue.isCurrent(indices[k]!, marks[k]!)) this.#overdue.add(indices[k]!, dueTicks[k]!)
      }
      throw error
    }
  }

  /** Spreads up to `budget` chunks of a coarse slot to finer slots. */
  #cascade(slot: number, budget: number): void {
    const slots = this.#slots
    for (let left = budget; left > 0 && slots.tails[slot] !== 0; left--) {
      const end = slots.frontEnd(slot)
      const chunk = slots.shift(slot)
      for (let at = chunk + ENTRIES; at < end; at += 2) {
        const { pool } = slots
        slots.enqueue(pool[at]!, pool[at | 1]!)
      }
      slots.release(chunk)
    }
  }

  /** Does a part of the work that would otherwise all fall on one tick: spreading, far timers, stale entries. */
  #workAhead(): void {
    const { chunks, low } = this.#slots
    const minor = 512 + (((low >>> 8) + 1) & 511)
    if (chunks[minor] !== 0) this.#cascade(minor, 1 + Math.trunc(chunks[minor]! / (0x100 - (low & 0xff))))
    const middle = 1024 + (((low >>> 16) + 1) & 511)
    if (chunks[middle] !== 0)
      this.#cascade(middle, 1 + Math.trunc(chunks[middle]! / (0x1_0000 - (low & 0xffff))))
    const major = 1536 + (((low >>> 24) + 1) & 255)
    if (chunks[major] !== 0)
      this.#cascade(major, 1 + Math.trunc(chunks[major]! / (0x100_0000 - (low & 0xff_ffff))))
    this.#far.visitAtLeisure(this.#now)
    this.#scrub.afterAdvance(this.#now)
  }

  /** Drops all entries: without a pending timer every entry is stale. */
  #forgetEntries(): void {
    this.#slots.clear()
    this.#overdue.clear()
    this.#far.clear()
    this.#scrub.clear()
  }
}

function checkTick(name: string, tick: unknown): void {
  if (Number.isSafeInteger(tick) && (tick as number) >= 0) return
  throw new InvalidInputError(
    'invalid-tick',
    `${name} must be an integer from 0 to 2^53 - 1, got ${shown(tick)}`,
  )
}
