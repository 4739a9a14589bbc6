import type { Fence, ShardRow } from '../../../store/index.js'
import { comparePlaces, isBefore } from '../../../timer/index.js'
import type { Commit } from './commit.js'
import type { Journal } from './journal.js'
import type { Ledger } from './ledger.js'
import type { StoreInspector } from './store-inspector.js'

/**
 * What must hold for the shard rows at every commit:
 *
 * - Epochs and settled levels never fall. The read level falls only by `acquire` and `lower`.
 * - No write commits with another fence than the shard's.
 * - A page has every row between two read levels.
 * - A sweep removes no unsettled row.
 * - Where the read level falls, `lateBefore` covers the rows whose position is later than their due time.
 */
export class ShardCheck {
  readonly #journal: Journal
  readonly #ledger: Ledger
  readonly #inspector: StoreInspector

  constructor(journal: Journal, ledger: Ledger, inspector: StoreInspector) {
    this.#journal = journal
    this.#ledger = ledger
    this.#inspector = inspector
  }

  /** Checks a commit. The ledger must not have recorded it yet. */
  check(commit: Commit): void {
    for (const [shard, before] of commit.before.entries()) {
      const after = commit.after[shard]!
      if (after !== before) this.#checkRow(commit, before, after)
    }
    const fence = fenceOf(commit)
    if (fence !== undefined) this.#checkFence(commit, fence)
    if (commit.name === 'load') this.#checkPage(commit)
    if (commit.name === 'sweep') this.checkRows()
    if (commit.name === 'requests') this.#checkInbox(commit)
  }

  #checkRow(commit: Commit, before: ShardRow, after: ShardRow): void {
    const { shard } = before
    if (after.epoch < before.epoch) {
      this.#journal.violated(
        7,
        `shard ${shard} went from epoch ${before.epoch} back to ${after.epoch} by ${commit.name}`,
      )
    }
    const isNewOwner = after.owner !== before.owner && after.owner !== ''
    if (isNewOwner && (after.epoch === before.epoch || (before.owner !== '' && commit.name !== 'acquire'))) {
      this.#journal.violated(
        7,
        `shard ${shard} got the owner ${after.owner} by ${commit.name} without a new epoch`,
      )
    }
    if (isBefore(after.settledLevel, before.settledLevel)) {
      this.#journal.violated(8, `the settled level of shard ${shard} went back by ${commit.name}`)
    }
    if (isBefore(after.readLevel, before.readLevel) && commit.name !== 'lower' && commit.name !== 'acquire') {
      this.#journal.violated(8, `the read level of shard ${shard} went back by ${commit.name}`)
    }
    if (commit.name === 'acquire' && comparePlaces(after.readLevel, after.settledLevel) !== 0) {
      this.#journal.violated(
        6,
        `the claim of shard ${shard} did not set the read level back to the settled level`,
      )
    }
    if (after.lateBefore < before.lateBefore) {
      this.#journal.violated(8, `the end of late rows of shard ${shard} went back by ${commit.name}`)
    }
    if (isBefore(after.readLevel, before.readLevel)) this.#checkLate(after)
    if (isBefore(after.readLevel, after.settledLevel)) {
      this.#journal.violated(
        6,
        `the read level of shard ${shard} is below its settled level after ${commit.name}`,
      )
    }
  }

  /** The next load must find every row whose position is later than its due time. */
  #checkLate({ shard, settledLevel, readLevel, lateBefore }: ShardRow): void {
    for (const { identity, version } of this.#ledger.standing(shard).values()) {
      const { position, dueAt } = version
      if (position <= dueAt || position < lateBefore || position === settledLevel.position) continue
      if (isBefore(version, readLevel)) continue
      this.#journal.violated(
        6,
        `timer ${identity} has a position ${position - dueAt} ms after its due time, and lateBefore does not cover it`,
      )
    }
  }

  #checkFence(commit: Commit, fence: Fence): void {
    const before = commit.before[fence.shard]!
    if (before.epoch === fence.epoch && before.nonce === fence.nonce) return
    // A `refence` that is sent twice with one nonce raises the epoch once.
    if (commit.name === 'refence' && commit.after[fence.shard] === before) return
    this.#journal.violated(
      7,
      `${commit.name} on shard ${fence.shard} was committed with epoch ${fence.epoch}, but the shard had epoch ${before.epoch} of ${before.owner || 'nobody'}`,
    )
  }

  #checkPage(commit: Commit & { name: 'load' }): void {
    const { shard } = commit.args[0]
    const { page } = commit.answer
    const before = commit.before[shard]!
    const after = commit.after[shard]!
    const revisions = new Set(page.revisions)
    let expected = 0
    for (const life of this.#ledger.standing(shard).values()) {
      if (isBefore(life.version, before.settledLevel) || !isBefore(life.version, after.readLevel)) continue
      if (isBefore(life.version, before.readLevel)) continue
      expected++
      if (revisions.has(life.version.revision)) continue
      this.#journal.violated(6, `the read level passed timer ${life.identity} without loading it`)
    }
    if (page.size !== expected) {
      this.#journal.violated(6, `a page of shard ${shard} has ${page.size} rows, expected ${expected}`)
    }
  }

  /** The store must have exactly the rows of the ledger. */
  checkRows(): void {
    const rows = this.#inspector.rows()
    if (rows.length !== this.#ledger.standingCount) {
      this.#journal.violated(5, `the store has ${rows.length} rows, expected ${this.#ledger.standingCount}`)
    }
    for (const row of rows) {
      const life = this.#ledger.life(row.identity)
      if (life?.state !== 'standing' || life.version.revision !== row.revision) {
        this.#journal.violated(10, `the store has a row of timer ${row.identity} that it should not have`)
      }
    }
  }

  #checkInbox(commit: Commit & { name: 'requests' }): void {
    const [{ shard }, limit] = commit.args
    const expected: string[] = []
    for (const request of this.#ledger.requests.values()) {
      if (expected.length >= limit) break
      if (request.shard === shard) expected.push(request.id)
    }
    const got = commit.answer.map((request) => request.id)
    if (got.length !== expected.length || got.some((id, index) => id !== expected[index])) {
      this.#journal.violated(
        6,
        `the inbox of shard ${shard} shows ${got.join(' ')}, expected ${expected.join(' ')}`,
      )
    }
  }
}

function fenceOf(commit: Commit): Fence | undefined {
  switch (commit.name) {
    case 'acquire':
    case 'append':
    case 'heartbeat':
    case 'removeMember':
      return undefined
    case 'load':
    case 'lower':
    case 'refence':
    case 'release':
    case 'renew':
    case 'requests':
    case 'settle':
    case 'sweep':
    case 'write':
      return commit.args[0]
  }
}
