import { checkFunction, checkOptions, InvalidInputError, shown, StateError } from '../error/index.js'
import { ticksToNextStop } from './next-stop.js'
import { OverdueList } from './overdue-list.js'
import { recordLayout } from './record-layout.js'
import { type Handle, RecordTable } from './record-table.js'
import { slotLayout, SlotTable } from './slot-table.js'

const { MAX_TIMERS, STATE, OWN, OVERDUE, WIDE, LAZY, ARMED, SEEN, FLAGS, WIDE_TOKEN } = recordLayout
const { FAR_SLOT, SLOTS, ENTRIES, CHUNK_ENTRIES } = slotLayout

/** Receives a timer that fires: the token it was set with and the tick it was due at. */
export type Fire = (token: number, dueTick: number) => void

export interface WheelOptions {
  /** The tick the wheel stands at. Default 0. */
  readonly startTick?: number
  /** Room to make for this many timers at once, instead of growing to it. Default 0. */
  readonly reserve?: number
}

export interface WheelStats {
  /** Timers pending. */
  readonly size: number
  /** Timers there is room for before the wheel grows. */
  readonly capacity: number
  /** Entries in the slots: one for every timer, and those that cancelled and moved timers left behind. */
  readonly entries: number
  /** Everything the wheel holds, in bytes. */
  readonly bytes: number
}

// Entries looked at before the first of them fires: their cache misses overlap instead of following each other.
const BATCH_FIELDS = 3
const BATCH_WORDS = 512 * BATCH_FIELDS
// A far timer is brought near when it is within 2^30 ticks, at leisure, and at the latest at half of that.
const FAR_LEISURE = 2 ** 30
const FAR_LIMIT = 2 ** 29
const ALL = 0x7fff_ffff
const LAST_TICK = Number.MAX_SAFE_INTEGER
const MOVES_JUDGED = 256
// A scrub rewrites twice this many chunks; without an advance there is one for this many taken into use.
const SCRUB_CHUNKS = 128
// Stale entries nobody minds, beside half as many as there are timers.
const LITTER_ALLOWED = 1024
// Stale entries that are let be until the next advance, beside three times as many as there are timers.
const FLOOD_ALLOWED = 16_384

/**
 * A hierarchical timing wheel on integer ticks: it knows no clock, no store and no promise, only
 * `advance(tick)`. Nothing fires early, everything due fires, in the order of due ticks; set, move and cancel
 * are O(1) and allocate nothing, and idle ticks cost nothing however many are skipped.
 *
 * Cancelling and moving leave an entry behind that is recognised as stale when its slot comes up; a scrub
 * takes a few such entries out at every advance, so that they stay in proportion to the timers.
 */
export class Wheel {
  // Every field begins with a value of its final kind (Infinity for what may outgrow an integer): V8 then knows
  // the kind and leaves out its checks.
  readonly #records = new RecordTable()
  readonly #slots = new SlotTable()
  readonly #overdue = new OverdueList(this.#records)
  readonly #batch = new Int32Array(BATCH_WORDS + CHUNK_ENTRIES * BATCH_FIELDS)
  #now = 0
  // The low 32 bits of #now. Due ticks are kept as low words too: within 2^31 ticks they are unambiguous.
  #low = 0
  // How many of the last moves went later, and whether the next is expected to.
  #moved = 0
  #movedLater = 0
  #expectsLater = true
  #busy = false
  // The due tick being fired: timers due then or later may be out of the slots and not yet fired.
  #inHand = Infinity
  #earliestFar = Infinity
  // A pass over the far timers under way: chunks it has still to visit, earliest of those it left there.
  #farLeft = 0
  #farKept = Infinity
  #isVisitingFar = false
  #scrubSlot = 0
  #scrubLeft = 0

  constructor(options: WheelOptions = {}) {
    checkOptions('Wheel', options, ['startTick', 'reserve'])
    const { startTick = 0, reserve = 0 } = options
    checkTick('startTick', startTick)
    if (!(Number.isSafeInteger(reserve) && reserve >= 0 && reserve <= MAX_TIMERS)) {
      throw new InvalidInputError(
        'invalid-option',
        `reserve must be a whole number from 0 to ${MAX_TIMERS}, got ${shown(reserve)}`,
      )
    }
    if (reserve > 0) {
      this.#records.reserve(reserve)
      this.#slots.reserve(reserve)
    }
    this.#goTo(startTick)
  }

  /** The tick the wheel stands at: that of the last advance, or of the timer being fired. */
  get tick(): number {
    return this.#now
  }

  /** How many timers are pending. */
  get size(): number {
    return this.#records.size
  }

  /** Sets a timer. One due at or before the wheel's tick fires first thing in the next advance. */
  set(dueTick: number, token: number): Handle {
    if (typeof dueTick !== 'number' || typeof token !== 'number') return this.#setUncommon(dueTick, token)
    const records = this.#records
    const distance = dueTick - this.#now
    const ahead = distance | 0
    if (
      ahead !== distance ||
      ahead <= 0 ||
      dueTick > LAST_TICK ||
      (token | 0) !== token ||
      token < 0 ||
      records.freeBits === 0
    ) {
      return this.#setUncommon(dueTick, token)
    }
    const due = (this.#low + ahead) | 0
    const index = records.arm(token, due)
    const handle = records.handleOf(index)
    this.#enqueue(index, due, ahead)
    return handle
  }

  /** Sets a timer whose token is its own index: for those who keep something for each timer in arrays. */
  setIndexed(dueTick: number): Handle {
    const handle = this.set(dueTick, 0)
    const index = this.#records.find(handle)
    this.#records.ownToken(index)
    return handle
  }

  /** The index of a pending timer, unique among those pending and below the capacity; -1 when it is gone. */
  indexOf(handle: Handle): number {
    return this.#records.find(handle)
  }

  /** Gives a timer another due tick; its handle stays valid. False when the timer is gone. */
  move(handle: Handle, dueTick: number): boolean {
    return this.#moveTo(this.#records.find(handle), dueTick)
  }

  /** As `move`, for the timer at an index. */
  moveAt(index: number, dueTick: number): boolean {
    return this.#moveTo(this.#records.isArmed(index) ? index : -1, dueTick)
  }

  /** Takes a timer out. False when it is gone already. */
  cancel(handle: Handle): boolean {
    const records = this.#records
    const index = records.find(handle)
    if (index < 0) return false
    records.release(index)
    return true
  }

  /** As `cancel`, for the timer at an index. */
  cancelAt(index: number): boolean {
    const records = this.#records
    if (!records.isArmed(index)) return false
    records.release(index)
    return true
  }

  #moveTo(index: number, dueTick: number): boolean {
    if (typeof dueTick !== 'number' || index < 0) {
      checkTick('dueTick', dueTick)
      return false
    }
    const distance = dueTick - this.#now
    const ahead = distance | 0
    if (ahead !== distance || ahead <= 0 || dueTick > LAST_TICK) {
      checkTick('dueTick', dueTick)
      this.#place(index, dueTick)
      return true
    }
    // Before the record is touched: a scrub must see it whole.
    if (++this.#moved === MOVES_JUDGED) this.#judgeMoves()
    const { words } = this.#records
    const at = index << 1
    const due = (this.#low + ahead) | 0
    const state = words[at | STATE]!
    const wasDue = words[at]!
    if (due === wasDue && (state & (WIDE | OVERDUE)) === 0) return true
    words[at] = due
    this.#movedLater += (wasDue - due) >>> 31
    if (this.#expectsLater && (state & (WIDE | OVERDUE)) === 0 && ((wasDue - due) | 0) <= 0) {
      // Its entry comes up before it is due and finds it: no need to queue another.
      words[at | STATE] = state | LAZY
      return true
    }
    words[at | STATE] = state & ~(LAZY | WIDE | OVERDUE)
    this.#enqueue(index, due, ahead)
    return true
  }

  /**
   * Moves the wheel to `tick` and fires everything due until then, overdue timers first. `fire` may set, move
   * and cancel: what it makes due later than the tick being fired and within this advance fires in this
   * advance, anything earlier in the next. If `fire` throws, the wheel stands at that tick, and what was not
   * fired fires in the next advance. Answers how many fired.
   */
  advance(tick: number, fire: Fire): number {
    checkTick('tick', tick)
    checkFunction('fire', fire)
    if (tick < this.#now) {
      throw new InvalidInputError('tick-went-back', `a wheel only goes forward: now=${this.#now} got=${tick}`)
    }
    this.#begin('advance')
    try {
      let fired = this.#overdue.places === 0 ? 0 : this.#fireOverdue(fire)
      while (this.#records.size !== 0) {
        const next = this.#now + ticksToNextStop(this.#slots, this.#low)
        const far = this.#earliestFar - FAR_LIMIT - 1
        if (far < next && far <= tick) {
          this.#goTo(Math.max(far, this.#now))
          this.#visitFar(ALL)
        } else if (next <= tick) {
          this.#goTo(next)
          fired += this.#fireHere(fire)
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
   * The tick to advance to next: undefined exactly when no timer is pending, otherwise never later than the
   * earliest due tick. It may be earlier, where timers are still to be spread to finer slots.
   */
  nextDue(): number | undefined {
    if (this.#records.size === 0) return undefined
    const next = this.#now + ticksToNextStop(this.#slots, this.#low)
    return Math.min(this.#inHand, this.#overdue.earliest, next, this.#earliestFar)
  }

  /** Takes out every timer pending now and hands it to `fn`, in no particular order. */
  drain(fn: Fire): void {
    checkFunction('drain', fn)
    this.#begin('drain')
    try {
      const records = this.#records
      for (const handle of records.handles()) {
        const index = records.find(handle)
        // fn may have cancelled it.
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
      bytes: records.bytes + slots.bytes + this.#overdue.bytes + this.#batch.byteLength,
    }
  }

  #begin(what: string): void {
    if (this.#busy)
      throw new StateError('wheel-busy', `${what} was called from inside fire: call it afterwards`)
    this.#busy = true
  }

  #goTo(tick: number): void {
    const low = tick | 0
    this.#low = low
    // Kept as a small integer as long as it is one.
    this.#now = low === tick ? low : tick
  }

  /**
   * Whether a move goes later is known only when its record has come from memory. Where that is a toss-up,
   * half the guesses of the processor are wrong and each waits for the record, and queuing an entry every
   * time is quicker by a quarter.
   */
  #judgeMoves(): void {
    this.#expectsLater = this.#movedLater > MOVES_JUDGED * 0.75
    this.#moved = 0
    this.#movedLater = 0
    this.#reclaim()
  }

  /** Queues an entry `ahead` ticks from here, 0 to 2^31 - 1, in the finest level that reaches so far. */
  #enqueue(index: number, due: number, ahead: number): void {
    const low = this.#low
    const slot =
      ahead < 512 - (low & 0xff)
        ? due & 511
        : ahead < 0x2_0000 - (low & 0xffff)
          ? 512 + ((due >>> 8) & 511)
          : ahead < 0x200_0000 - (low & 0xff_ffff)
            ? 1024 + ((due >>> 16) & 511)
            : 1536 + (due >>> 24)
    this.#slots.push(slot, index, due)
  }

  #setUncommon(dueTick: number, token: number): Handle {
    checkTick('dueTick', dueTick)
    if (!(Number.isSafeInteger(token) && token >= 0)) {
      throw new InvalidInputError(
        'invalid-token',
        `a token is a whole number from 0 to 2^53 - 1, got ${shown(token)}`,
      )
    }
    this.#reclaim()
    const records = this.#records
    const index = records.armUncommon(token)
    this.#place(index, dueTick)
    return records.handleOf(index)
  }

  /** Gives an armed record a due tick, wherever that lies. */
  #place(index: number, dueTick: number): void {
    const distance = dueTick - this.#now
    if (distance <= 0) {
      this.#overdue.add(index, dueTick)
      return
    }
    const records = this.#records
    const at = index << 1
    const isFar = (distance | 0) !== distance
    const isUnmoved = (records.words[at | STATE]! & WIDE) !== 0 && records.wideDues[index] === dueTick
    if (isFar && isUnmoved && !this.#isVisitingFar) return
    const due = dueTick | 0
    records.words[at] = due
    if (!isFar) {
      records.words[at | STATE]! &= ~(LAZY | WIDE | OVERDUE)
      this.#enqueue(index, due, distance)
    } else {
      records.words[at | STATE] = (records.words[at | STATE]! & ~(LAZY | OVERDUE)) | WIDE
      records.keepWideDue(index, dueTick)
      this.#earliestFar = Math.min(this.#earliestFar, dueTick)
      this.#farKept = Math.min(this.#farKept, dueTick)
      this.#slots.push(FAR_SLOT, index, due)
    }
  }

  #dueTickOf(index: number): number {
    const { words, wideDues } = this.#records
    const at = index << 1
    const state = words[at | STATE]!
    if ((state & OVERDUE) !== 0) return this.#overdue.dueTickOf(index)
    if ((state & WIDE) !== 0) return wideDues[index]!
    return this.#now + ((words[at]! - this.#low) | 0)
  }

  /** Fires what is due at this very tick, after spreading the blocks that begin here. */
  #fireHere(fire: Fire): number {
    const low = this.#low
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
      let count = 0
      while (slots.tails[slot] !== 0) {
        count = this.#collect(slot, count)
        if (count < BATCH_WORDS) continue
        fired += this.#fireBatch(count, fire)
        count = 0
      }
      return fired + this.#fireBatch(count, fire)
    } catch (error) {
      while (slots.tails[slot] !== 0) this.#postpone(0, this.#collect(slot, 0))
      throw error
    }
  }

  /** Adds to the batch what is due now in the first chunk of a slot, as (index, state, token). */
  #collect(slot: number, filled: number): number {
    const slots = this.#slots
    const { words, tokens } = this.#records
    const { pool } = slots
    const batch = this.#batch
    const due = this.#low
    const end = slots.frontEnd(slot)
    const chunk = slots.shift(slot)
    let count = filled
    let lazyEnd = chunk + ENTRIES
    for (let at = chunk + ENTRIES; at < end; at += 2) {
      const index = pool[at]!
      const record = index << 1
      const state = words[record | STATE]!
      if ((state & FLAGS) === ARMED) {
        if (words[record] === due) {
          batch[count] = index
          batch[count + 1] = state
          batch[count + 2] = (state & OWN) !== 0 ? index : tokens[index]!
          count += BATCH_FIELDS
        }
      } else if ((state & FLAGS) === (ARMED | LAZY)) {
        // What was read may be overwritten: keep it there until the loop is over, for the sake of the loop.
        pool[lazyEnd++] = index
      }
    }
    for (let at = chunk + ENTRIES; at < lazyEnd; at++) this.#catchUp(slots.pool[at]!)
    slots.release(chunk)
    return count
  }

  #fireBatch(count: number, fire: Fire): number {
    const records = this.#records
    const batch = this.#batch
    const tick = this.#now
    const due = this.#low
    let fired = 0
    let at = 0
    try {
      while (at < count) {
        const index = batch[at]!
        const state = batch[at + 1]!
        const token = batch[at + 2]!
        at += BATCH_FIELDS
        const { words } = records
        const current = words[(index << 1) | STATE]!
        if (current === state && words[index << 1] === due) {
          const whole = token === WIDE_TOKEN ? records.tokenOf(index) : token
          records.release(index)
          fired++
          fire(whole, tick)
        } else if ((current & FLAGS) === (ARMED | LAZY)) {
          // Moved later by one that fired before it; its entry is the one in our hands.
          this.#catchUp(index)
        }
      }
      return fired
    } catch (error) {
      this.#postpone(at, count)
      throw error
    }
  }

  /** Makes overdue what stands in the batch and was not fired. */
  #postpone(from: number, count: number): void {
    const { words } = this.#records
    const batch = this.#batch
    for (let at = from; at < count; at += BATCH_FIELDS) {
      const index = batch[at]!
      const current = words[(index << 1) | STATE]!
      const isDue = current === batch[at + 1] && words[index << 1] === this.#low
      if (isDue) this.#place(index, this.#now)
      else if ((current & FLAGS) === (ARMED | LAZY)) this.#catchUp(index)
    }
  }

  /** Queues a timer that was moved later without an entry of its own. */
  #catchUp(index: number): void {
    const { words } = this.#records
    const at = index << 1
    words[at | STATE]! &= ~LAZY
    const due = words[at]!
    this.#enqueue(index, due, (due - this.#low) | 0)
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
        if (!this.#overdue.isMeant(index, mark)) continue
        this.#inHand = dueTick
        const token = records.tokenOf(index)
        records.release(index)
        fired++
        fire(token, dueTick)
      }
      return fired
    } catch (error) {
      for (; k < marks.length; k++) {
        if (this.#overdue.isMeant(indices[k]!, marks[k]!)) this.#overdue.add(indices[k]!, dueTicks[k]!)
      }
      throw error
    }
  }

  /** Spreads up to `budget` chunks of a coarse slot to finer ones. */
  #cascade(slot: number, budget: number): void {
    const slots = this.#slots
    const low = this.#low
    for (let left = budget; left > 0 && slots.tails[slot] !== 0; left--) {
      const end = slots.frontEnd(slot)
      const chunk = slots.shift(slot)
      for (let at = chunk + ENTRIES; at < end; at += 2) {
        const { pool } = slots
        const due = pool[at | 1]!
        this.#enqueue(pool[at]!, due, (due - low) | 0)
      }
      slots.release(chunk)
    }
  }

  /** Does a little of the work that would otherwise fall to one tick: spreading, far timers, stale entries. */
  #workAhead(): void {
    const { chunks } = this.#slots
    const low = this.#low
    const minor = 512 + (((low >>> 8) + 1) & 511)
    if (chunks[minor] !== 0) this.#cascade(minor, 1 + Math.trunc(chunks[minor]! / (0x100 - (low & 0xff))))
    const middle = 1024 + (((low >>> 16) + 1) & 511)
    if (chunks[middle] !== 0)
      this.#cascade(middle, 1 + Math.trunc(chunks[middle]! / (0x1_0000 - (low & 0xffff))))
    const major = 1536 + (((low >>> 24) + 1) & 255)
    if (chunks[major] !== 0)
      this.#cascade(major, 1 + Math.trunc(chunks[major]! / (0x100_0000 - (low & 0xff_ffff))))
    const untilFar = this.#earliestFar - this.#now
    if (untilFar < FAR_LEISURE)
      this.#visitFar(1 + Math.trunc(chunks[FAR_SLOT]! / Math.max(untilFar - FAR_LIMIT, 1)))
    if (this.#isLittered()) this.#scrub(2 * SCRUB_CHUNKS)
  }

  /** Visits far timers, up to `budget` chunks of them: those that are near by now go into the levels. */
  #visitFar(budget: number): void {
    const slots = this.#slots
    const records = this.#records
    if (this.#farLeft === 0) {
      this.#farLeft = slots.chunks[FAR_SLOT]!
      this.#farKept = Infinity
    }
    this.#isVisitingFar = true
    for (let left = budget; left > 0 && this.#farLeft > 0; left--) {
      this.#farLeft--
      const end = slots.frontEnd(FAR_SLOT)
      const chunk = slots.shift(FAR_SLOT)
      for (let at = chunk + ENTRIES; at < end; at += 2) {
        const index = slots.pool[at]!
        const record = index << 1
        const isLive =
          (records.words[record | STATE]! & FLAGS) === (ARMED | WIDE) &&
          records.words[record] === slots.pool[at | 1]
        if (isLive) this.#place(index, records.wideDues[index]!)
      }
      slots.release(chunk)
    }
    this.#isVisitingFar = false
    if (this.#farLeft === 0) this.#earliestFar = this.#farKept
  }

  /** With no timer pending every entry is stale. */
  #forgetEntries(): void {
    this.#slots.clear()
    this.#overdue.clear()
    this.#earliestFar = Infinity
    this.#farLeft = 0
    this.#scrubLeft = 0
  }

  #isLittered(): boolean {
    return this.#slots.entriesAtLeast > this.#records.size * 1.5 + LITTER_ALLOWED
  }

  /** Keeps stale entries in bounds while nobody advances the wheel. */
  #reclaim(): void {
    const slots = this.#slots
    if (slots.taken < SCRUB_CHUNKS) return
    slots.taken = 0
    if (slots.entriesAtLeast > this.#records.size * 4 + FLOOD_ALLOWED) this.#scrub(2 * SCRUB_CHUNKS)
  }

  /** Rewrites up to `budget` chunks without their stale entries, going round the slots. */
  #scrub(budget: number): void {
    const slots = this.#slots
    for (let left = budget; left > 0; left--) {
      if (this.#scrubLeft === 0 || slots.tails[this.#scrubSlot] === 0) {
        const next = slots.firstUsed(this.#scrubSlot + 1, SLOTS)
        const slot = next >= 0 ? next : slots.firstUsed(0, SLOTS)
        if (slot < 0) return
        this.#scrubSlot = slot
        this.#scrubLeft = slots.chunks[slot]!
      }
      this.#scrubLeft--
      if (this.#scrubSlot === FAR_SLOT) this.#visitFar(1)
      else this.#scrubChunk(this.#scrubSlot)
    }
  }

  #scrubChunk(slot: number): void {
    const { words } = this.#records
    const slots = this.#slots
    const end = slots.frontEnd(slot)
    const chunk = slots.shift(slot)
    for (let at = chunk + ENTRIES; at < end; at += 2) {
      const index = slots.pool[at]!
      const due = slots.pool[at | 1]!
      const record = index << 1
      const state = words[record | STATE]!
      // One that was moved later is queued now: else each entry it left behind would have to be kept.
      if ((state & FLAGS) === (ARMED | LAZY)) {
        this.#catchUp(index)
      } else if ((state & FLAGS) === ARMED && words[record] === due && (state & SEEN) === 0) {
        // One that was moved back and forth has an entry for every time: one of a chunk is enough.
        words[record | STATE] = state | SEEN
        slots.push(slot, index, due)
      }
    }
    for (let at = chunk + ENTRIES; at < end; at += 2) words[(slots.pool[at]! << 1) | STATE]! &= ~SEEN
    slots.release(chunk)
  }
}

function checkTick(name: string, tick: unknown): void {
  if (Number.isSafeInteger(tick) && (tick as number) >= 0) return
  throw new InvalidInputError(
    'invalid-tick',
    `${name} must be a whole number from 0 to 2^53 - 1, got ${shown(tick)}`,
  )
}
