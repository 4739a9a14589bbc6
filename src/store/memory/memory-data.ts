import { Turns } from '../../async/index.js'
import type { Clock } from '../../time/index.js'
import {
  firstPlace,
  isBefore,
  laterOf,
  levelAt,
  type Place,
  shardOf,
  type TimerName,
} from '../../timer/index.js'
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
import type { MemoryRow } from './memory-row.js'
import { MemoryShard } from './memory-shard.js'

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
    const due: [MemoryShard, MemoryRow][] = []
    for (const shard of this.shards) {
      let taken = 0
      for (const row of shard.rows.from(firstPlace)) {
        if (row.position > now || taken === claim.limit) break
        if (row.lease !== undefined && row.lease.until > now) continue
        if (!isOfKinds(row, claim.kinds)) continue
        due.push([shard, row])
        taken++
      }
    }
    due.sort(([, a], [, b]) => a.position - b.position)
    return due.slice(0, claim.limit).map(([shard, found]) => {
      const lostOwner = found.lease?.owner
      const row = found.lease !== undefined ? shard.rewrite(found, { attempt: found.attempt + 1 }) : found
      row.lease = { owner: claim.owner, nonce: ++this.#lastLease, until: now + claim.leaseMs }
      return { row, token: claimTokenOf(row, row.lease.nonce), lostOwner }
    })
  }

  nextDue({ withinMs, kinds }: NextDueQuery, now: number): number | undefined {
    let next: number | undefined
    for (const shard of this.shards) {
      for (const row of shard.rows.from(levelAt(now + 1))) {
        if (row.position > now + withinMs || row.position >= (next ?? Infinity)) break
        if (isOfKinds(row, kinds)) next = row.position
      }
    }
    return next
  }

  extend(token: ClaimToken, leaseMs: number, now: number): boolean {
    const row = this.#leasedRow(token, now)
    if (row?.lease === undefined) return false
    row.lease.until = now + leaseMs
    return true
  }

  longLeases({ beyondMs, limit }: LongLeaseQuery, now: number): LongLease[] {
    const long: { readonly position: number; readonly lease: LongLease }[] = []
    for (const shard of this.shards) {
      for (const row of shard.rows.from(firstPlace)) {
        if (row.position > now) break
        if (row.lease === undefined || row.lease.until <= now + beyondMs) continue
        const { nonce, until } = row.lease
        long.push({ position: row.position, lease: { ...claimTokenOf(row, nonce), until } })
      }
    }
    return long
      .sort((a, b) => a.position - b.position)
      .slice(0, limit)
      .map(({ lease }) => lease)
  }

  cutShort(lease: LongLease, now: number): boolean {
    const row = this.#leasedRow(lease, now)
    if (row?.lease?.until !== lease.until) return false
    row.lease.until = now
    return true
  }

  settleClaimed(settlement: ClaimSettlement, now: number): boolean {
    const row = this.#leasedRow(settlement.token, now)
    if (row === undefined) return false
    const shard = this.shardOfName(row)
    for (const note of settlement.notes ?? []) {
      this.#history.push({ ...nameOnly(row), identity: row.identity, ...note })
    }
    switch (settlement.outcome) {
      case 'released':
        row.lease = undefined
        return true
      case 'done':
        shard.remove(row)
        this.counts.settled++
        return true
      case 'dead':
        this.addDead({ row, diedAt: settlement.diedAt, reason: settlement.reason })
        if (settlement.next !== undefined) shard.continueClaimed(row, settlement.next)
        else {
          shard.remove(row)
          this.counts.dead++
        }
        return true
      case 'follow-up':
        shard.continueClaimed(row, settlement.progress)
        return true
    }
  }

  /** The row of a lease, if the lease is still held. */
  #leasedRow(token: ClaimToken, now: number): MemoryRow | undefined {
    const row = this.shardOfName(token).find(token)
    const isHeld =
      row?.revision === token.revision && row.lease?.nonce === token.nonce && row.lease.until > now
    return isHeld ? row : undefined
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
      const { rows, row: shardRow, listIndex } = this.shards[shard]!
      if (!listIndex.has(query)) continue
      for (const row of listIndex.inWindow(rows, laterOf(level, shardRow.settledLevel), query)) {
        const isOut = ++looked % ROWS_PER_LOOK === 0 && this.clock.monotonic() >= until
        const isTurnOver = looked > ROWS_PER_TURN
        if (items.length === query.limit || isOut || isTurnOver) {
          const next = { shard, place: row, looked: start.looked + looked - 1 }
          const isFull = items.length === query.limit
          return { ...pageBefore(next, items, isFull), isTurnOver: isTurnOver && !isOut && !isFull }
        }
        if (matches(row, query)) items.push(row)
      }
    }
    return { ...lastPage(items, start.looked + looked), isTurnOver: false }
  }

  histogram(query: HistogramQuery): number[] {
    const counts = new Array<number>(
      Math.ceil((query.untilExclusive - query.fromInclusive) / query.sliceMs),
    ).fill(0)
    for (let shard = 0; shard < this.shards.length; shard++) {
      for (const row of this.unsettledRows(shard, firstPlace)) {
        const isAsked =
          row.dueAt >= query.fromInclusive &&
          row.dueAt < query.untilExclusive &&
          (query.namespace === undefined || row.namespace === query.namespace) &&
          (query.kind === undefined || row.kind === query.kind)
        if (isAsked) counts[Math.floor((row.dueAt - query.fromInclusive) / query.sliceMs)]!++
      }
    }
    return counts
  }

  countKinds(query: KindCountQuery): readonly KindCount[] {
    const counter = new KindCounter(query)
    for (let shard = 0; shard < this.shards.length; shard++) {
      for (const row of this.unsettledRows(shard, firstPlace))
        counter.add(row.namespace, row.kind, row.dueAt, row.attempt > 0)
    }
    return counter.all()
  }

  /** The unsettled rows of a shard from `level` on. */
  unsettledRows(shard: number, level: Place): Generator<MemoryRow, void, undefined> {
    const { rows, row } = this.shards[shard]!
    return rows.from(isBefore(level, row.settledLevel) ? row.settledLevel : level)
  }

  countRows(): number {
    let count = 0
    for (let shard = 0; shard < this.shards.length; shard++) {
      for (const _ of this.unsettledRows(shard, firstPlace)) count++
    }
    return count
  }

  usage(namespace: string): Usage {
    let timers = 0
    let bytes = 0
    for (let shard = 0; shard < this.shards.length; shard++) {
      for (const row of this.unsettledRows(shard, firstPlace)) {
        if (row.namespace !== namespace) continue
        timers++
        bytes += row.payload.length
      }
    }
    return { timers, bytes }
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

/** Whether a row has one of these kinds; true when no kinds are given. */
function isOfKinds(row: TimerName, kinds: readonly KindName[] | undefined): boolean {
  return kinds === undefined || kinds.some(({ namespace, kind }) => matchesName(row, { namespace, kind }))
}

function nameOnly({ namespace, kind, key }: TimerName): TimerName {
  return { namespace, kind, key }
}

function claimTokenOf(row: MemoryRow, nonce: number): ClaimToken {
  return { ...nameOnly(row), identity: row.identity, revision: row.revision, nonce }
}
