import type { Fence, ShardRow } from '../../store/index.js'
import { comparePlaces, isBefore } from '../../timer/index.js'
import type { Commit } from './commit.js'
import type { Journal } from './journal.js'
import type { Ledger } from './ledger.js'
import type { Peephole } from './peephole.js'

/**
 * What must hold of the shards' rows at every commit: epochs and settled levels rise, the read level goes down
 * by a claim or `lower` only, no write commits under another fence than the shard's, a page is all that lies
 * between two read levels, and a sweep takes nothing that stands.
 */
export class ShardCheck {
  readonly #journal: Journal
  readonly #ledger: Ledger
  readonly #peephole: Peephole

  constructor(journal: Journal, ledger: Ledger, peephole: Peephole) {
    this.#journal = journal
    this.#ledger = ledger
    this.#peephole = peephole
  }

  /** Looks at a commit before the ledger has heard of it. */
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
      this.#journal.broken(
        7,
        `shard ${shard} went from epoch ${before.epoch} back to ${after.epoch} by ${commit.name}`,
      )
    }
    const isNewOwner = after.owner !== before.owner && after.owner !== ''
    if (isNewOwner && (after.epoch === before.epoch || (before.owner !== '' && commit.name !== 'claim'))) {
      this.#journal.broken(
        7,
        `shard ${shard} got the owner ${after.owner} by ${commit.name} without a new epoch`,
      )
    }
    if (isBefore(after.settledLevel, before.settledLevel)) {
      this.#journal.broken(8, `the settled level of shard ${shard} went back by ${commit.name}`)
    }
    if (isBefore(after.readLevel, before.readLevel) && commit.name !== 'lower' && commit.name !== 'claim') {
      this.#journal.broken(8, `the read level of shard ${shard} went back by ${commit.name}`)
    }
    if (commit.name === 'claim' && comparePlaces(after.readLevel, after.settledLevel) !== 0) {
      this.#journal.broken(6, `the claim of shard ${shard} left the read level where its last owner had it`)
    }
    if (isBefore(after.readLevel, after.settledLevel)) {
      this.#journal.broken(
        6,
        `the read level of shard ${shard} is below its settled level after ${commit.name}`,
      )
    }
  }

  #checkFence(commit: Commit, fence: Fence): void {
    const before = commit.before[fence.shard]!
    if (before.epoch === fence.epoch && before.nonce === fence.nonce) return
    // Raising the own epoch twice with one nonce is raising it once.
    if (commit.name === 'refence' && commit.after[fence.shard] === before) return
    this.#journal.broken(
      7,
      `${commit.name} on shard ${fence.shard} was carried out under epoch ${fence.epoch}, which stood at ${before.epoch} of ${before.owner || 'nobody'}`,
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
      this.#journal.broken(6, `timer ${life.identity} was passed by the read level without being read`)
    }
    if (page.size !== expected) {
      this.#journal.broken(6, `a page of shard ${shard} has ${page.size} rows where ${expected} stand`)
    }
  }

  /** The store holds what the ledger says, no more and no less. */
  checkRows(): void {
    const rows = this.#peephole.rows()
    if (rows.length !== this.#ledger.standingCount) {
      this.#journal.broken(5, `${rows.length} rows stand, ${this.#ledger.standingCount} should`)
    }
    for (const row of rows) {
      const life = this.#ledger.life(row.identity)
      if (life?.state !== 'standing' || life.version.revision !== row.revision) {
        this.#journal.broken(10, `timer ${row.identity} stands in the store and should not`)
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
      this.#journal.broken(
        6,
        `the inbox of shard ${shard} shows ${got.join(' ')} where ${expected.join(' ')} wait`,
      )
    }
  }
}

function fenceOf(commit: Commit): Fence | undefined {
  return commit.name === 'claim' || commit.name === 'append' ? undefined : commit.args[0]
}
