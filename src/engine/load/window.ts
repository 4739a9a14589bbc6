import type { RowPage } from '../../store/index.js'
import {
  firstPlace,
  isBefore,
  levelAfter,
  type Place,
  type TimerName,
  type TimerRow,
} from '../../timer/index.js'
import { Wheel } from '../../wheel/index.js'
import { UnsortedPage } from './unsorted-page.js'
import { entryState, WindowPage } from './window-page.js'

const { WAITING, READY, GONE, DONE, HELD } = entryState

// A token names an entry: the slot of its page, then its index there.
const INDEX_BITS = 16
const INDEX_MASK = 0xffff
export const MAX_PAGE_ROWS = 2 ** INDEX_BITS

/**
 * The rows of a shard that are in memory. Every unsettled row below the read level is here, whether it was loaded, was
 * set meanwhile, or is being attempted (rule 2). No row is here twice.
 *
 * Loaded pages are sorted, so a row is found there by its place. Rows that came one by one are found by their revision.
 *
 * Proven by test/engine/strategies.test.ts, test/engine/crowding.test.ts and test/engine/simulation.test.ts.
 */
export class Window {
  readonly #wheel: Wheel
  readonly #baseMs: number
  readonly #slots: (WindowPage | undefined)[] = []
  readonly #freeSlots: number[] = []
  // Slots of sorted pages, in order of their rows.
  #sorted: number[] = []
  // Slots of pages whose rows are found by revision.
  readonly #unsorted = new Set<number>()
  readonly #byRevision = new Map<number, number>()
  #filling: { readonly slot: number; readonly page: UnsortedPage } | undefined
  #size = 0
  #bytes = 0

  constructor(nowMs: number) {
    this.#baseMs = nowMs
    this.#wheel = new Wheel()
  }

  /** The number of rows, in whatever state. */
  get size(): number {
    return this.#size
  }

  /** About how many bytes the rows take. */
  get bytes(): number {
    return this.#bytes
  }

  /** The number of rows that are not due yet. */
  get waiting(): number {
    return this.#wheel.size
  }

  /** Adds a page, except rows that are here already. Answers its slot. */
  addPage(page: RowPage): number {
    const entry = new WindowPage(page, true)
    const slot = this.#open(entry)
    this.#sorted.push(slot)
    for (let index = 0; index < page.size; index++) {
      const revision = page.revisions[index]!
      if (this.#byRevision.size > 0 && this.#byRevision.has(revision)) {
        entry.remove(index)
      } else {
        entry.wheelEntries[index] = this.#wheel.set(
          this.#tick(page.dueAts[index]!),
          (slot << INDEX_BITS) | index,
        )
      }
    }
    this.#size += entry.live
    if (page.size > 0) this.#bytes += entry.live * entry.bytesAt(0)
    if (entry.live === 0) this.#close(slot)
    return slot
  }

  /** Adds a single row, unless it is here already. Answers its token. */
  addRow(row: TimerRow, state: number = WAITING): number {
    const known = this.find(row)
    if (known >= 0) return known
    const { slot, page } = this.#pageToFill()
    const index = page.add(row)
    const entry = this.#slots[slot]!
    const token = (slot << INDEX_BITS) | index
    entry.states[index] = state
    entry.live++
    entry.rewind()
    this.#size++
    this.#bytes += entry.bytesAt(index)
    this.#byRevision.set(row.revision, token)
    if (state === WAITING) entry.wheelEntries[index] = this.#wheel.set(this.#tick(row.dueAt), token)
    return token
  }

  /** The token of the row at this place; -1 when it is not here. */
  find(place: Place): number {
    const token = this.#byRevision.get(place.revision)
    if (token !== undefined) return token
    let low = 0
    let high = this.#sorted.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const page = this.#slots[this.#sorted[middle]!]!
      if (page.isBefore(page.reach - 1, place)) low = middle + 1
      else high = middle
    }
    const slot = this.#sorted[low]
    if (slot === undefined) return -1
    const page = this.#slots[slot]!
    const index = page.indexOf(place)
    return index < 0 || page.states[index] === GONE ? -1 : (slot << INDEX_BITS) | index
  }

  /** The page in a slot that `addPage` answered; undefined if none of its rows was added. */
  pageIn(slot: number): WindowPage | undefined {
    return this.#slots[slot]
  }

  /** Takes a waiting row out of the wheel. Answers its token. */
  takeOut(slot: number, index: number): number {
    this.#wheel.cancel(this.#slots[slot]!.wheelEntries[index]!)
    return (slot << INDEX_BITS) | index
  }

  /** The page of a token; undefined at run time if nothing of it is left. */
  page(token: number): WindowPage {
    return this.#slots[token >>> INDEX_BITS]!
  }

  index(token: number): number {
    return token & INDEX_MASK
  }

  state(token: number): number {
    return this.#slots[token >>> INDEX_BITS]!.states[token & INDEX_MASK]!
  }

  setState(token: number, state: number): void {
    this.#slots[token >>> INDEX_BITS]!.states[token & INDEX_MASK] = state
  }

  /** A row that a settlement was to remove stays after all. */
  stay(token: number, state: number): void {
    this.setState(token, state)
    this.page(token).rewind()
  }

  /** Drops a row. */
  remove(token: number): void {
    const page = this.page(token)
    const index = this.index(token)
    if (page.states[index] === GONE) return
    if (page.isWaiting(index)) this.#wheel.cancel(page.wheelEntries[index]!)
    this.#forget(page, index)
    page.remove(index)
    if (page.live === 0) this.#close(token >>> INDEX_BITS)
  }

  /** Calls `due` for every row that is due. The wheel never goes back, though clocks may. */
  advance(nowMs: number, due: (token: number) => void): void {
    this.#wheel.advance(Math.max(nowMs - this.#baseMs, this.#wheel.tick), due)
  }

  /** When to advance next; undefined when nothing waits. */
  nextDue(): number | undefined {
    const tick = this.#wheel.nextDue()
    if (tick === undefined) return undefined
    // The wheel may be ahead of a clock that was set back. Rows that are due before its tick are due by now, or early.
    return tick <= this.#wheel.tick ? 0 : tick + this.#baseMs
  }

  /** The first place in order that holds the settled level back; undefined when none does. */
  firstHolding(): Place | undefined {
    let first: Place | undefined
    for (const slot of this.#sorted) {
      const page = this.#slots[slot]!
      const index = page.firstHolding()
      if (index < 0) continue
      first = page.place(index)
      break
    }
    for (const slot of this.#unsorted) {
      const page = this.#slots[slot]!
      const index = page.firstHolding()
      if (index >= 0 && (first === undefined || isBefore(page.place(index), first))) first = page.place(index)
    }
    return first
  }

  /** How many rows before `level` are done. */
  countDone(level: Place): number {
    let count = 0
    for (const page of this.#pages()) count += page.countDone(level)
    return count
  }

  /** Drops rows before `level` that are done. */
  settle(level: Place): void {
    for (const page of this.#pages()) {
      page.eachBefore(level, (index) => {
        if (page.states[index] === DONE) this.#forget(page, index)
      })
      page.settle(level)
    }
    this.#closeEmpty()
  }

  /**
   * Drops rows at or after `level` that are not due yet. The others stay, so that they are recognised when they are loaded
   * again. If dropped rows had a position later than their due time, answers a position after them all; otherwise 0.
   */
  dropFrom(level: Place): number {
    let lateBefore = 0
    for (const [slot, page] of this.#slots.entries()) {
      if (page === undefined) continue
      const isSorted = page.isSorted && !this.#unsorted.has(slot)
      const first = isSorted ? page.firstNotBefore(level) : 0
      let stayed = 0
      for (let index = first; index < page.size; index++) {
        if (page.states[index] === GONE || page.isBefore(index, level)) continue
        if (page.isWaiting(index)) {
          this.#wheel.cancel(page.wheelEntries[index]!)
          this.#forget(page, index)
          if (page.isLate(index)) lateBefore = Math.max(lateBefore, page.positions[index]! + 1)
          page.remove(index)
        } else {
          stayed++
        }
      }
      if (!isSorted) continue
      if (stayed === 0) page.reach = first
      else this.#unsort(slot, page)
    }
    this.#closeEmpty()
    return lateBefore
  }

  /** Rows that are loaded next may lie between those of this page: from now on they are found by revision. */
  #unsort(slot: number, page: WindowPage): void {
    this.#sorted = this.#sorted.filter((other) => other !== slot)
    this.#unsorted.add(slot)
    for (let index = 0; index < page.size; index++) {
      if (page.states[index] !== GONE)
        this.#byRevision.set(page.revisions[index]!, (slot << INDEX_BITS) | index)
    }
  }

  /** The places of this timer's rows older than `revision`. Looks at every row: for rare cases. */
  versionsOf(name: TimerName, revision: number): Place[] {
    const places: Place[] = []
    for (const page of this.#pages()) {
      for (let index = 0; index < page.size; index++) {
        if (page.states[index] === GONE || page.revisions[index]! >= revision) continue
        const row = page.row(index)
        const isNamed = row.key === name.key && row.kind === name.kind && row.namespace === name.namespace
        if (isNamed) places.push(page.place(index))
      }
    }
    return places
  }

  /** Rows at or after `level` that are done: they are removed one by one. */
  doneRows(limit: number, level: Place): TimerRow[] {
    const rows: TimerRow[] = []
    for (const page of this.#pages()) {
      if (page.isSorted && page.isBefore(page.size - 1, level)) continue
      for (let index = 0; index < page.size && rows.length < limit; index++) {
        if (page.states[index] !== DONE || page.isBefore(index, level)) continue
        rows.push(page.row(index))
      }
    }
    return rows
  }

  /** The last place in order whose row is done; the first of all when none is. */
  lastDone(): Place {
    let last = firstPlace
    for (const page of this.#pages()) {
      for (let index = page.size - 1; index >= 0; index--) {
        if (page.states[index] !== DONE) continue
        if (!page.isBefore(index, last)) last = page.place(index)
        // The page is sorted, so the rest lies before it.
        if (page.isSorted) break
      }
    }
    return last
  }

  /** The level just after every row that no longer waits for its time. */
  afterStarted(): Place {
    let level = firstPlace
    for (const page of this.#pages()) {
      for (let index = 0; index < page.size; index++) {
        if (page.states[index] === GONE || page.isWaiting(index)) continue
        if (!page.isBefore(index, level)) level = levelAfter(page.place(index))
      }
    }
    return level
  }

  /** Whether a row was or is being attempted, and the store does not know the outcome. */
  hasUnsettled(): boolean {
    for (const page of this.#pages()) {
      for (const state of page.states) {
        if (state !== WAITING && state !== READY && state !== GONE && state !== HELD) return true
      }
    }
    return false
  }

  #forget(page: WindowPage, index: number): void {
    if (this.#byRevision.size > 0) this.#byRevision.delete(page.revisions[index]!)
    this.#size--
    this.#bytes -= page.bytesAt(index)
  }

  *#pages(): Generator<WindowPage, void, undefined> {
    for (const page of this.#slots) {
      if (page !== undefined) yield page
    }
  }

  #tick(dueAt: number): number {
    return Math.max(0, dueAt - this.#baseMs)
  }

  #pageToFill(): { readonly slot: number; readonly page: UnsortedPage } {
    if (this.#filling === undefined || this.#filling.page.isFull) {
      const page = new UnsortedPage()
      const entry = new WindowPage(page, false)
      entry.live = 0
      entry.states.fill(GONE)
      const slot = this.#open(entry)
      this.#unsorted.add(slot)
      const before = this.#filling
      this.#filling = { slot, page }
      if (before !== undefined && this.#slots[before.slot]?.live === 0) this.#close(before.slot)
    }
    return this.#filling
  }

  #open(page: WindowPage): number {
    const slot = this.#freeSlots.pop() ?? this.#slots.length
    this.#slots[slot] = page
    return slot
  }

  #close(slot: number): void {
    // The page that is being filled stays until it is full.
    if (this.#filling?.slot === slot && !this.#filling.page.isFull) return
    this.#slots[slot] = undefined
    this.#freeSlots.push(slot)
    if (!this.#unsorted.delete(slot)) this.#sorted = this.#sorted.filter((other) => other !== slot)
  }

  #closeEmpty(): void {
    for (const [slot, page] of this.#slots.entries()) {
      if (page !== undefined && page.live === 0) this.#close(slot)
    }
  }
}
