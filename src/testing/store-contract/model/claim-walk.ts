import assert from 'node:assert/strict'
import type { ClaimedRow, ClaimProgress, ClaimSettlement } from '../../../store/index.js'
import { firstPlace, type TimerName, type TimerRow } from '../../../timer/index.js'
import { addsUp, keysOf, NAMESPACE, pagesOf, rowsOf, sameRows, shownLetter } from '../sample.js'
import { plain } from '../timer-fields.js'
import type { World } from '../world.js'
import { Random } from '../../random.js'
import { RandomOperation } from './random-operation.js'
import { type Ledger, ShardModel } from './shard-model.js'

const NAMES = 150

interface Lease {
  readonly claimed: ClaimedRow
  readonly until: number
}

/**
 * Random operations on a store of the mode `claim` and on the model: claimers lease, extend, settle, release and forget
 * rows while others set, move and cancel timers. The clock shows even times and leases end at odd ones, because the
 * contract leaves open whether a lease is over at its very millisecond.
 */
export class ClaimWalk {
  readonly #world: World
  readonly #random: Random
  readonly #ledger: Ledger = {
    counts: { created: 0, settled: 0, cancelled: 0, replaced: 0, dead: 0 },
    dead: [],
  }
  readonly #model = new ShardModel(this.#ledger, firstPlace, false)
  /** The last lease of each name, over or not. */
  readonly #leases = new Map<string, Lease>()
  readonly #operation: RandomOperation
  readonly trail: string[] = []
  operations = 0

  constructor(world: World, seed: number) {
    this.#world = world
    this.#random = new Random(seed)
    const names = Array.from({ length: NAMES }, (_, i) => world.newName(i % world.store.shardCount))
    this.#operation = new RandomOperation(this.#random, this.#model, names)
  }

  async run(operations: number): Promise<void> {
    while (this.operations < operations) {
      const step = this.#random.weighted({ write: 35, claim: 25, settle: 25, extend: 8, pass: 20, read: 5 })
      this.trail.push(`${this.operations}: ${step}`)
      if (this.trail.length > 12) this.trail.shift()
      await this.#step(step)
    }
    await this.#compareAll()
  }

  async #step(step: 'write' | 'claim' | 'settle' | 'extend' | 'pass' | 'read'): Promise<void> {
    switch (step) {
      case 'write':
        await this.#write()
        return
      case 'claim':
        await this.#claim()
        return
      case 'settle':
        await this.#settle()
        return
      case 'extend':
        await this.#extend()
        return
      case 'pass':
        await this.#world.clock.advance(2 * this.#random.below(800))
        return
      case 'read':
        await this.#compareAll()
    }
  }

  async #write(): Promise<void> {
    const now = this.#world.now()
    // Each name once: only the answer shows whether this store moves a leased row.
    const operations = [
      ...new Map(
        Array.from({ length: 1 + this.#random.below(20) }, () => this.#operation.next(now)).flatMap(
          (operation) => (operation.type === 'answer' ? [] : [[operation.key, operation] as const]),
        ),
      ).values(),
    ]
    const answers = await this.#world.write(...operations)
    for (const [index, operation] of operations.entries()) {
      const answer = answers[index]!
      if (answer.outcome === 'firing') {
        assert.ok(operation.type !== 'set', 'a set replaces, whatever is being delivered')
        assert.ok(this.#heldBy(operation) !== undefined, `${operation.key} is not leased`)
        continue
      }
      this.#model.apply(operation, answer, now)
    }
    this.operations += operations.length
  }

  async #claim(): Promise<void> {
    const now = this.#world.now()
    const limit = 1 + this.#random.below(30)
    const leaseMs = 1 + 2 * this.#random.below(1500)
    const free = [...this.#model.rows.values()].filter(
      (row) => row.position <= now && this.#heldBy(row) === undefined,
    )
    const claimed = await this.#world.store.claimDue({ owner: 'walker', limit, leaseMs })
    assert.equal(claimed.length, Math.min(limit, free.length), 'as many as are due and free')
    const positions = claimed.map(({ row }) => row.position)
    const earliest = free.map((row) => row.position).toSorted((a, b) => a - b)
    assert.deepEqual(positions, earliest.slice(0, claimed.length), 'the earliest first')
    assert.equal(new Set(keysOf(claimed.map(({ row }) => row))).size, claimed.length)
    for (const each of claimed) {
      const { row } = each
      const before = this.#model.find(row)!
      const isLost = this.#isForgotten(before)
      const expected = { ...before, attempt: before.attempt + (isLost ? 1 : 0), revision: row.revision }
      assert.deepEqual(plain(row), plain(expected))
      this.#model.rewritten(row)
      this.#leases.set(row.key, { claimed: each, until: now + leaseMs })
    }
    this.operations += claimed.length + 1
  }

  async #settle(): Promise<void> {
    const leases = [...this.#leases.values()].filter(() => this.#random.chance(0.3))
    const now = this.#world.now()
    const settlements = leases.map(({ claimed: { token, row } }): ClaimSettlement => {
      const dueAt = now + this.#random.below(4000)
      const progress = {
        dueAt,
        attempt: row.attempt + 1,
        occurrence: row.occurrence,
        ...(this.#random.chance(0.2) && { details: `details ${this.#random.below(100)}` }),
      }
      switch (this.#random.weighted({ done: 40, released: 20, again: 30, dead: 5, 'dies and goes on': 5 })) {
        case 'done':
          return { token, outcome: 'done' }
        case 'released':
          return { token, outcome: 'released' }
        case 'again':
          return { token, outcome: 'follow-up', progress }
        case 'dead':
          return { token, outcome: 'dead', reason: 'by chance', diedAt: now }
        case 'dies and goes on':
          return { token, outcome: 'dead', reason: 'this once', diedAt: now, next: progress }
      }
    })
    const isHeld = leases.map((lease) => this.#heldBy(lease.claimed.row)?.claimed === lease.claimed)
    const answers = await this.#world.store.settleClaimed(settlements, [])
    assert.deepEqual([...answers], isHeld)
    for (const [index, settlement] of settlements.entries()) {
      if (isHeld[index] !== true) continue
      const { row } = leases[index]!.claimed
      this.#leases.delete(row.key)
      await this.#follow(settlement, row)
    }
    this.operations += settlements.length + 1
  }

  async #follow(settlement: ClaimSettlement, row: TimerRow): Promise<void> {
    const { counts } = this.#ledger
    if (settlement.outcome === 'released') return
    if (settlement.outcome === 'follow-up') {
      await this.#checkRewritten(row, settlement.progress)
      return
    }
    if (settlement.outcome === 'dead') {
      const { diedAt, reason, next } = settlement
      this.#ledger.dead.push({ row, diedAt, reason })
      if (next !== undefined) {
        await this.#checkRewritten(row, next)
        return
      }
      counts.dead++
    } else counts.settled++
    this.#model.forget(row)
  }

  /** The row of a lease must have been rewritten as expected. */
  async #checkRewritten(row: TimerRow, progress: ClaimProgress): Promise<void> {
    const [found] = await this.#world.store.find([row])
    const current = this.#model.find(row)!
    const { dueAt, attempt, occurrence, details = current.details } = progress
    const { revision } = found!
    const expected = { ...current, dueAt, attempt, occurrence, details, position: dueAt, revision }
    assert.deepEqual(plain(found!), plain(expected))
    this.#model.rewritten(found!)
  }

  async #extend(): Promise<void> {
    const leases = [...this.#leases.values()].filter(() => this.#random.chance(0.2))
    const leaseMs = 1 + 2 * this.#random.below(1500)
    const isHeld = leases.map((lease) => this.#heldBy(lease.claimed.row)?.claimed === lease.claimed)
    const tokens = leases.map((lease) => lease.claimed.token)
    assert.deepEqual([...(await this.#world.store.extend(tokens, leaseMs))], isHeld)
    for (const [index, { claimed }] of leases.entries()) {
      if (isHeld[index] === true) {
        this.#leases.set(claimed.row.key, { claimed, until: this.#world.now() + leaseMs })
      }
    }
    this.operations += leases.length + 1
  }

  /** The running lease on the current row of this name. */
  #heldBy(name: TimerName): Lease | undefined {
    const lease = this.#leases.get(name.key)
    const row = this.#model.find(name)
    const runs = lease !== undefined && row !== undefined && lease.until > this.#world.now()
    return runs && row.identity === lease.claimed.row.identity && row.revision === lease.claimed.row.revision
      ? lease
      : undefined
  }

  /** Whether the row is unchanged since it was leased and its lease was never settled. */
  #isForgotten(row: TimerRow): boolean {
    return this.#leases.get(row.key)?.claimed.row.revision === row.revision
  }

  async #compareAll(): Promise<void> {
    const { store } = this.#world
    const expected = this.#model.sorted()
    const listed = await rowsOf(store)
    const byKey = (a: TimerRow, b: TimerRow): number => (a.key < b.key ? -1 : 1)
    sameRows(listed.toSorted(byKey), expected.toSorted(byKey))
    assert.deepEqual(await store.counts(), this.#ledger.counts)
    const dead = await pagesOf((cursor) => store.deadLetters({ namespace: NAMESPACE, limit: 500, cursor }))
    assert.deepEqual(dead.map(shownLetter).toSorted(), this.#ledger.dead.map(shownLetter).toSorted())
    await addsUp(store)
  }
}
