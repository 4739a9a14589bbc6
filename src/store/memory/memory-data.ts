import { Turns } from '../../async/index.js'
import type { Clock } from '../../time/index.js'
import { firstPlace, laterOf, levelAt, type Place, shardOf, type TimerName } from '../../timer/index.js'
import { KindCounter } from '../kind-counter.js'
import { anyInteger, cursorOf, parseCursor, textLike } from '../cursor.js'
import { matches, matchesName } from '../filter.js'
import { lastPage, listStartOf, pageBefore } from '../list-cursor.js'
import { Mailboxes } from '../mailboxes.js'
import { MemberTable } from '../member-table.js'
import type {
  ClaimedRow,
  ClaimSettlement,
  DeadLetter,
  DeadQuery,
  DueClaim,
  HistogramQuery,
  KindCount,
  KindCountQuery,
  HistoryEntry,
  HistoryQuery,
  Listed,
  ListedRows,
  KindName,
  ListQuery,
  LongLease,
  LongLeaseQuery,
  NewDeadLetter,
  NextDueQuery,
  ClaimToken,
  Setting,
  StoreMode,
  Usage,
} from '../store.js'
import type { TimerRow } from '../../timer/index.js'
import { isInScope, mayMatch, slotsInWindow } from './list-window.js'
import type { MemoryRows } from './memory-rows.js'
import { MemoryShard } from './memory-shard.js'
import type { Scope } from './row-record.js'

/** How many rows a list looks at before it reads the clock, and before other calls get a turn. */
const ROWS_PER_LOOK = 256
const ROWS_PER_TURN = 16_384

/** The data that all clients of one memory store share: the shards, and everything that belongs to no shard. */
export class MemoryData {
  readonly clock: Clock
  readonly strategy: StoreMode
  readonly shardCount: number
  readonly maxPayloadBytes: number
  readonly shards: readonly MemoryShard[]
  readonly counts = { created: 0, settled: 0, cancelled: 0, replaced: 0, dead: 0 }
  readonly settings = new Map<string, Setting>()
  /** Shared by all lists, so that many lists at once take no more of the event loop than one. */
  readonly turns: Turns
  readonly wakeListeners = new Set<(shard: number) => void>()
  readonly members = new MemberTable()
  readonly mailboxes = new Mailboxes()
  #dead: DeadLetter[] = []
  #history: HistoryEntry[] = []
  #lastDead = 0
  #lastHistory = 0
  #lastSettingVersion = 0
  #lastLease = 0

  constructor(clock: Clock, strategy: StoreMode, shardCount: number, maxPayloadBytes: number) {
    this.clock = clock
    this.turns = new Turns(() => clock.turnEnd())
    this.strategy = strategy
    this.shardCount = shardCount
    this.maxPayloadBytes = maxPayloadBytes
    this.shards = Array.from({ length: shardCount }, (_, shard) => new MemoryShard(shard, this))
  }

  shardOfName(name: TimerName): MemoryShard {
    return this.shards[shardOf(name, this.shardCount)]!
  }

  addDead({ row, diedAt, reason }: NewDeadLetter): DeadLetter {
    const dead = { row, diedAt, reason, id: String(++this.#lastDead) }
    this.#dead.push(dead)
    return dead
  }

  addHistory(entries: readonly HistoryEntry[]): void {
    this.#history.push(...entries)
  }

  // ---- claims

  claimDue(claim: DueClaim, now: number): ClaimedRow[] {
    const due: { readonly shard: MemoryShard; readonly slot: number; readonly position: number }[] = []
    for (const shard of this.shards) {
      const { rows } = shard
      let taken = 0
      for (const slot of rows.order.from(firstPlace)) {
        const position = rows.position(slot)
        if (position > now || taken === claim.limit) break
        const lease = rows.leases.get(slot)
        if (lease !== undefined && lease.until > now) continue
        if (!isOfKinds(rows.scope(slot), claim.kinds)) continue
        due.push({ shard, slot, position })
        taken++
      }
    }
    due.sort((a, b) => a.position - b.position)
    return due.slice(0, claim.limit).map(({ shard, slot: found }) => {
      const { rows } = shard
      const lostOwner = rows.leases.get(found)?.owner
      const slot =
        lostOwner !== undefined ? shard.rewrite(found, { attempt: rows.attempt(found) + 1 }) : found
      const nonce = ++this.#lastLease
      rows.leases.set(slot, { owner: claim.owner, nonce, until: now + claim.leaseMs })
      const row = rows.row(slot)
      return { row, token: claimTokenOf(row, nonce), lostOwner }
    })
  }

  nextDue({ withinMs, kinds }: NextDueQuery, now: number): number | undefined {
    let next: number | undefined
    for (const { rows } of this.shards) {
      for (const slot of rows.order.from(levelAt(now + 1))) {
        const position = rows.position(slot)
        if (position > now + withinMs || position >= (next ?? Infinity)) break
        if (isOfKinds(rows.scope(slot), kinds)) next = position
      }
    }
    return next
  }

  extend(token: ClaimToken, leaseMs: number, now: number): boolean {
    const leased = this.#leasedRow(token, now)
    if (leased === undefined) return false
    leased.lease.until = now + leaseMs
    return true
  }

  longLeases({ beyondMs, limit }: LongLeaseQuery, now: number): LongLease[] {
    const long: { readonly position: number; readonly lease: LongLease }[] = []
    for (const { rows } of this.shards) {
      for (const [slot, { nonce, until }] of rows.leases) {
        const position = rows.position(slot)
        if (position > now || until <= now + beyondMs) continue
        long.push({ position, lease: { ...claimTokenOf(rows.row(slot), nonce), until } })
      }
    }
    return long
      .sort((a, b) => a.position - b.position)
      .slice(0, limit)
      .map(({ lease }) => lease)
  }

  cutShort(lease: LongLease, now: number): boolean {
    const leased = this.#leasedRow(lease, now)
    if (leased?.lease.until !== lease.until) return false
    leased.lease.until = now
    return true
  }

  settleClaimed(settlement: ClaimSettlement, now: number): boolean {
    const leased = this.#leasedRow(settlement.token, now)
    if (leased === undefined) return false
    const { shard, slot } = leased
    const { rows } = shard
    for (const note of settlement.notes ?? []) {
      this.#history.push({ ...nameOnly(settlement.token), identity: settlement.token.identity, ...note })
    }
    switch (settlement.outcome) {
      case 'released':
        rows.leases.delete(slot)
        return true
      case 'done':
        rows.remove(slot)
        this.counts.settled++
        return true
      case 'dead':
        this.addDead({ row: rows.row(slot), diedAt: settlement.diedAt, reason: settlement.reason })
        if (settlement.next !== undefined) shard.continueClaimed(slot, settlement.next)
        else {
          rows.remove(slot)
          this.counts.dead++
        }
        return true
      case 'follow-up':
        shard.continueClaimed(slot, settlement.progress)
        return true
    }
  }

  /** The row of a lease, if the lease is still held. */
  #leasedRow(token: ClaimToken, now: number) {
    const shard = this.shardOfName(token)
    const slot = shard.slotOf(token)
    if (slot === undefined) return undefined
    const lease = shard.rows.leases.get(slot)
    const isHeld = lease?.nonce === token.nonce && lease.until > now
    return isHeld ? { shard, slot, lease } : undefined
  }

  // ---- reading

  /**
   * Looks at some rows of a list, from the query's cursor on, and returns those that match. `isTurnOver` says that the
   * list goes on from the cursor in another turn. `until` is when the query's budget is used up.
   */
  listStep(query: ListQuery, until: number): ListedRows & { readonly isTurnOver: boolean } {
    const items: TimerRow[] = []
    const start = listStartOf(query.cursor, this.shards.length)
    let level: Place = start.place
    let looked = 0
    for (let shard = start.shard; shard < this.shards.length; shard++, level = firstPlace) {
      const { rows, row: shardRow } = this.shards[shard]!
      if (!rows.scopes.has(query.namespace, query.kind)) continue
      for (const slot of slotsInWindow(rows, laterOf(level, shardRow.settledLevel), query)) {
        const isOut = ++looked % ROWS_PER_LOOK === 0 && this.clock.monotonic() >= until
        const isTurnOver = looked > ROWS_PER_TURN
        if (items.length === query.limit || isOut || isTurnOver) {
          const next = { shard, place: rows.place(slot), looked: start.looked + looked - 1 }
          const isFull = items.length === query.limit
          return { ...pageBefore(next, items, isFull), isTurnOver: isTurnOver && !isOut && !isFull }
        }
        if (!mayMatch(rows, slot, query)) continue
        const row = rows.row(slot)
        if (matches(row, query)) items.push(row)
      }
    }
    return { ...lastPage(items, start.looked + looked), isTurnOver: false }
  }

  histogram(query: HistogramQuery): number[] {
    const counts = new Array<number>(
      Math.ceil((query.untilExclusive - query.fromInclusive) / query.sliceMs),
    ).fill(0)
    for (const [rows, slot] of this.unsettledSlots()) {
      const dueAt = rows.dueAt(slot)
      const isAsked =
        dueAt >= query.fromInclusive &&
        dueAt < query.untilExclusive &&
        isInScope(rows.scope(slot), query.namespace, query.kind)
      if (isAsked) counts[Math.floor((dueAt - query.fromInclusive) / query.sliceMs)]!++
    }
    return counts
  }

  countKinds(query: KindCountQuery): readonly KindCount[] {
    const counter = new KindCounter(query)
    for (const [rows, slot] of this.unsettledSlots()) {
      const { namespace, kind } = rows.scope(slot)
      counter.add(namespace, kind, rows.dueAt(slot), rows.attempt(slot) > 0)
    }
    return counter.all()
  }

  /** The slots of all unsettled rows. */
  *unsettledSlots(): Generator<readonly [MemoryRows, number], void, undefined> {
    for (const { rows, row } of this.shards) {
      for (const slot of rows.order.from(row.settledLevel)) yield [rows, slot]
    }
  }

  countRows(): number {
    let count = 0
    for (const _ of this.unsettledSlots()) count++
    return count
  }

  usage(namespace: string): Usage {
    let timers = 0
    let bytes = 0
    for (const [rows, slot] of this.unsettledSlots()) {
      if (rows.scope(slot).namespace !== namespace) continue
      timers++
      bytes += rows.payloadBytes(slot)
    }
    return { timers, bytes }
  }

  get deadCount(): number {
    return this.#dead.length
  }

  deadLetters(query: DeadQuery): Listed<DeadLetter> {
    const [after = 0] = parseCursor<[string]>('dead', query.cursor, textLike(/^\d{1,15}$/)) ?? []
    const found = this.#dead.filter(
      (letter) => Number(letter.id) > Number(after) && matchesName(letter.row, query),
    )
    const items = found.slice(0, query.limit)
    return { items, cursor: found.length > items.length ? cursorOf('dead', [items.at(-1)!.id]) : undefined }
  }

  /** Removes a letter if it is there, and of this namespace if one is given. */
  removeDead(id: string, namespace?: string): boolean {
    const index = this.#dead.findIndex((letter) => letter.id === id)
    if (index < 0 || (namespace !== undefined && this.#dead[index]!.row.namespace !== namespace)) return false
    this.#dead.splice(index, 1)
    return true
  }

  history(query: HistoryQuery): Listed<HistoryEntry> {
    const { fromInclusive = 0, untilExclusive = Infinity } = query
    const [skipped = 0] = parseCursor<[number]>('history', query.cursor, anyInteger) ?? []
    const from = Math.max(0, skipped - this.#lastHistory)
    const items: HistoryEntry[] = []
    for (let index = from; index < this.#history.length; index++) {
      if (items.length === query.limit) {
        return { items, cursor: cursorOf('history', [this.#lastHistory + index]) }
      }
      const entry = this.#history[index]!
      if (entry.at >= fromInclusive && entry.at < untilExclusive && matchesName(entry, query))
        items.push(entry)
    }
    return { items, cursor: undefined }
  }

  pruneHistory(beforeExclusive: number): number {
    const before = this.#history.length
    this.#history = this.#history.filter((entry) => entry.at >= beforeExclusive)
    const pruned = before - this.#history.length
    // Cursors count from the first entry ever written.
    this.#lastHistory += pruned
    return pruned
  }

  // ---- cluster

  putSetting(name: string, value: string | undefined, ifVersion: number | undefined): number | undefined {
    const version = this.settings.get(name)?.version ?? 0
    if (ifVersion !== undefined && ifVersion !== version) return undefined
    // One counter for all settings: a setting that is removed and stored again gets a new version.
    const next = ++this.#lastSettingVersion
    if (value === undefined) this.settings.delete(name)
    else this.settings.set(name, { name, value, version: next })
    return next
  }
}

/** Whether a row of this scope has one of these kinds; true when no kinds are given. */
function isOfKinds(scope: Scope, kinds: readonly KindName[] | undefined): boolean {
  return kinds === undefined || kinds.some(({ namespace, kind }) => isInScope(scope, namespace, kind))
}

function nameOnly({ namespace, kind, key }: TimerName): TimerName {
  return { namespace, kind, key }
}

function claimTokenOf(row: TimerRow, nonce: number): ClaimToken {
  return { ...nameOnly(row), identity: row.identity, revision: row.revision, nonce }
}
