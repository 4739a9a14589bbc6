import assert from 'node:assert/strict'
import type { HistoryEntry, Operation, OperationAnswer, Settlement } from '../../../store/index.js'
import {
  isBefore,
  levelAfter,
  levelAt,
  type Place,
  type TimerName,
  type TimerRow,
} from '../../../timer/index.js'
import { applied } from '../cases/cluster/inbox.js'
import { type Owner, settlementOf } from '../owner.js'
import { plainWriteOf } from '../cases/timers/set-columns.js'
import {
  NAMESPACE,
  addsUp,
  pagesOf,
  refused,
  rowsOf,
  samePlace,
  sameRows,
  setOf,
  shownLetter,
} from '../sample.js'
import { plain } from '../timer-fields.js'
import { entryOf } from '../cases/ending/settle.js'
import type { World } from '../world.js'
import { Random } from '../../random.js'
import { RandomOperation } from './random-operation.js'
import { type Ledger, ShardModel } from './shard-model.js'

const NAMES_PER_SHARD = 120

const WEIGHTS = Object.freeze({
  write: 34,
  writePlain: 6,
  pass: 14,
  load: 14,
  settle: 10,
  append: 6,
  answer: 8,
  read: 6,
  sweep: 2,
  lower: 2,
  refence: 1,
  takeOver: 1,
  zombie: 1,
})

/** A shard, its owner and its model. */
interface Ground {
  owner: Owner
  readonly model: ShardModel
  readonly operation: RandomOperation
}

/**
 * Runs random operations on a store and on the model. It compares every answer at once and everything that can be read
 * at the end. The clock shows even times and deadlines are odd, because the contract leaves open whether a lease or
 * deadline is over at its very millisecond.
 */
export class Walk {
  readonly #world: World
  readonly #random: Random
  readonly #canReopen: boolean
  readonly #ledger: Ledger = {
    counts: { created: 0, settled: 0, cancelled: 0, replaced: 0, dead: 0 },
    dead: [],
  }
  readonly #places: Ground[] = []
  readonly #history: HistoryEntry[] = []
  readonly #asked: string[] = []
  /** The last steps, for the error message of a walk that failed. */
  readonly trail: string[] = []
  operations = 0
  #requests = 0
  #isReopened = false

  constructor(world: World, seed: number, canReopen: boolean) {
    this.#world = world
    this.#random = new Random(seed)
    this.#canReopen = canReopen
  }

  async run(operations: number): Promise<void> {
    const { shardCount } = this.#world.store
    for (let shard = 0; shard < shardCount; shard++) {
      const owner = await this.#world.own(shard)
      const model = new ShardModel(this.#ledger, owner.readLevel)
      const names = Array.from({ length: NAMES_PER_SHARD }, () => this.#world.newName(shard))
      this.#places.push({ owner, model, operation: new RandomOperation(this.#random, model, names) })
    }
    let reopenAt = operations / 3
    while (this.operations < operations) {
      const place = this.#random.one(this.#places)!
      const step = this.#random.weighted(WEIGHTS)
      this.trail.push(`${this.operations}: ${step} on shard ${place.owner.fence.shard}`)
      if (this.trail.length > 12) this.trail.shift()
      await this.#step(step, place)
      if (this.#canReopen && this.operations > reopenAt) {
        reopenAt += operations / 3
        this.trail.push('reopen')
        await this.#world.reopen()
        this.#isReopened = true
        await this.#compareAll()
      }
    }
    await this.#compareAll()
  }

  async #step(step: keyof typeof WEIGHTS, place: Ground): Promise<void> {
    const { owner } = place
    const random = this.#random
    switch (step) {
      case 'write': {
        const size = random.chance(0.2) ? 1 : 1 + random.below(40)
        const operations = Array.from({ length: size }, () => place.operation.next(this.#world.now()))
        if (place.model.requests.length > 0 && random.chance(0.2)) {
          const write = { operations, ifInboxEmpty: true }
          await refused('before the inbox', () => this.#world.store.write(owner.fence, write), 'inbox-first')
        }
        await this.#write(place, operations)
        return
      }
      case 'writePlain': {
        const count = random.chance(0.2) ? 1 : 1 + random.below(40)
        const sets = Array.from({ length: count }, () => place.operation.plain(this.#world.now()))
        const floor = random.chance(0.5) ? place.model.settledLevel.position : 0
        const write = plainWriteOf(sets, floor)
        this.#apply(place, write.operations, await owner.answersTo(write))
        return
      }
      case 'pass':
        await this.#world.clock.advance(2 * random.below(random.chance(0.1) ? 3000 : 300))
        // An owner whose lease has run out loses the shard.
        for (const each of this.#places) await this.#world.store.renew(each.owner.fence, 30_000)
        return
      case 'load':
        await this.#load(place)
        return
      case 'settle':
        await this.#settle(place)
        return
      case 'append':
        await this.#append(place)
        return
      case 'answer':
        await this.#answer(place)
        return
      case 'read':
        await this.#read(place)
        await this.#readSettled(place)
        return
      case 'sweep':
        await this.#sweep(place)
        return
      case 'lower':
        await this.#lower(place)
        return
      case 'refence': {
        const { epoch, nonce } = await this.#world.store.refence(owner.fence, this.#world.newNonce(), 30_000)
        owner.fence = { ...owner.fence, epoch, nonce }
        return
      }
      case 'takeOver':
        await this.#takeOver(place)
        return
      case 'zombie': {
        const fence = { ...owner.fence, epoch: owner.fence.epoch - 1 }
        const operations = [place.operation.next(this.#world.now())]
        await refused('a zombie', () => this.#world.store.write(fence, { operations }), 'fenced')
        return
      }
    }
  }

  async #write(place: Ground, operations: readonly Operation[]): Promise<void> {
    const { owner } = place
    const history = this.#random.chance(0.1) ? [this.#entry(owner)] : []
    this.#history.push(...history)
    this.#apply(place, operations, await owner.writeWith(history, ...operations))
  }

  #apply({ model }: Ground, operations: readonly Operation[], answers: readonly OperationAnswer[]): void {
    for (const [index, operation] of operations.entries()) {
      const before = `operation ${index}: ${shownOperation(operation)}`
      this.trail.push(before)
      const answer = answers[index]!
      model.apply(operation, answer, this.#world.now())
      this.trail.pop()
      this.#history.push(...notesOf(operation, answer))
    }
    this.operations += operations.length
  }

  async #load({ owner, model }: Ground): Promise<void> {
    const random = this.#random
    const from = owner.readLevel
    const untilExclusive = this.#world.now() + random.below(random.chance(0.1) ? 1e9 : 4000)
    const limit = random.chance(0.5) ? 100_000 : 1 + random.below(20)
    const limitBytes = random.chance(0.1) ? 1 : 2 ** 30
    const { page, readLevel, nextPosition } = await owner.loadPage(untilExclusive, { limit, limitBytes })
    const rows = model.sorted().filter((row) => !isBefore(row, from))
    const wanted = rows.filter((row) => row.position < untilExclusive)
    const size = limitBytes === 1 ? Math.min(1, wanted.length) : Math.min(limit, wanted.length)
    const loaded = Array.from({ length: page.size }, (_, index) => page.row(index))
    sameRows(loaded, wanted.slice(0, size))
    const last = loaded.at(-1)
    const next = rows[size]
    assert.ok(last === undefined || isBefore(last, readLevel), 'the level lies after what was read')
    assert.ok(next === undefined || !isBefore(next, readLevel), 'the level passed what was not read')
    assert.ok(!isBefore(readLevel, from), 'the level went back')
    if (size === wanted.length && size < limit && limitBytes > 1) {
      const end = isBefore(from, levelAt(untilExclusive)) ? levelAt(untilExclusive) : from
      samePlace(readLevel, end, 'the level after a window that was read to its end')
    }
    if (next !== undefined) {
      assert.ok(nextPosition !== undefined && nextPosition <= next.position, `nextPosition=${nextPosition}`)
    }
    model.readLevel = readLevel
    this.operations += loaded.length
  }

  async #lower({ owner, model }: Ground): Promise<void> {
    const low = model.sorted().filter((row) => isBefore(row, owner.readLevel))
    const to: Place = this.#random.one(low) ?? owner.fence.settledLevel
    const level = { position: to.position, revision: to.revision }
    await this.#world.store.lower(owner.fence, owner.readLevel, level)
    owner.readLevel = level
    model.readLevel = level
  }

  async #settle({ owner, model }: Ground): Promise<void> {
    const random = this.#random
    const now = this.#world.now()
    const read = model.sorted().filter((row) => isBefore(row, owner.readLevel) && row.position <= now)
    const last = random.one(read)
    let level = last === undefined || random.chance(0.1) ? model.settledLevel : levelAfter(last)
    if (random.chance(0.3) && !isBefore(owner.readLevel, levelAt(now))) {
      level = isBefore(model.settledLevel, levelAt(now)) ? levelAt(now) : model.settledLevel
    }
    const parts = { done: [] as TimerRow[], followUps: [], dead: [], history: [] } as {
      -readonly [Name in 'done' | 'followUps' | 'dead' | 'history']: Settlement[Name][number][]
    }
    let settledCount = 0
    for (const row of read) {
      const isPassed = isBefore(row, level)
      const position = Math.max(level.position, now + random.below(5000))
      const progress = {
        position,
        dueAt: position,
        attempt: row.attempt + 1,
        occurrence: row.occurrence,
        ...(random.chance(0.2) && { details: `details ${random.below(100)}` }),
      }
      const fate = random.weighted({
        end: 60,
        again: 20,
        dead: 5,
        'dies and goes on': 5,
        stale: 2,
        later: 10,
      })
      // If the row was rewritten since, the outcome must have no effect.
      const known = fate === 'stale' ? { ...row, revision: row.revision - 1 } : row
      if (fate === 'again' || fate === 'stale') parts.followUps.push({ row: known, ...progress })
      else if (fate === 'dead' || fate === 'dies and goes on') {
        const reason = `random ${random.below(100)}`
        // Also for a row that was rewritten since: then no dead letter is kept.
        const isStale = !isPassed && random.chance(0.1)
        const of = isStale ? { ...row, revision: row.revision - 1 } : row
        parts.dead.push({ row: of, diedAt: now, reason, ...(fate !== 'dead' && { next: progress }) })
      } else if (isPassed) settledCount++
      else if (fate === 'end' && random.chance(0.3)) parts.done.push(row)
      if (fate === 'stale' && isPassed) settledCount++
      if (random.chance(0.1)) parts.history.push(entryOf(row))
    }
    const settlement = settlementOf(level, { ...parts, settledCount })
    this.#history.push(...parts.history)
    const answer = await owner.settle(level, settlement)
    model.settle(settlement, answer)
    this.operations += read.length + 1
  }

  async #append({ owner: { fence }, model, operation }: Ground): Promise<void> {
    const now = this.#world.now()
    const requests = Array.from({ length: 1 + this.#random.below(5) }, () => {
      const next = operation.next(now)
      const deadline = now + 1 + 2 * this.#random.below(3000)
      const id = `request-${++this.#requests}`
      this.#asked.push(id)
      return { id, shard: fence.shard, deadline, operation: asked(next) }
    })
    // Some requests are sent twice.
    const sent = this.#random.chance(0.3) ? [...requests, requests[0]!] : requests
    const answers = await this.#world.store.append(sent)
    assert.deepEqual(
      [...answers],
      sent.map(() => 'appended'),
    )
    model.requests.push(...requests)
    const old = this.#random.one(this.#asked)!
    const answered = model.outcome(old, now)
    if (answered !== undefined) {
      const [again] = await this.#world.store.append([{ ...requests[0]!, id: old }])
      assert.equal(again, 'answered-before', old)
    }
    this.operations += sent.length
  }

  async #answer(place: Ground): Promise<void> {
    const { owner, model } = place
    const limit = 1 + this.#random.below(8)
    const requests = await this.#world.store.requests(owner.fence, limit)
    assert.deepEqual(
      requests.map((request) => request.id),
      model.requests.slice(0, limit).map((request) => request.id),
    )
    const operations = requests.flatMap((request): Operation[] => {
      if (this.#random.chance(0.1)) return []
      if (request.operation.type === 'cancel' && this.#random.chance(0.2)) {
        return [{ type: 'answer', request: request.id, outcome: 'firing' }]
      }
      const { operation } = request
      if (operation.type === 'report' || operation.type === 'barrier') return []
      const dueAt = operation.type === 'cancel' ? 0 : operation.dueAt
      const position = Math.max(dueAt, model.settledLevel.position)
      return [applied(this.#world, { ...request, operation }, position)]
    })
    const again = this.#random.chance(0.2) ? operations.slice(0, 1) : []
    await this.#write(place, [...operations, ...again])
  }

  async #read({ owner, model }: Ground): Promise<void> {
    const { store } = this.#world
    const now = this.#world.now()
    const names: TimerName[] = [...model.rows.values()].filter(() => this.#random.chance(0.2))
    names.push(this.#world.newName(owner.fence.shard))
    const found = await store.find(names)
    assert.deepEqual(
      found.map((row) => row && plain(row)),
      names.map((name) => {
        const row = model.find(name)
        return row && plain(row)
      }),
    )
    const ids = Array.from({ length: 3 }, () => this.#random.one(this.#asked) ?? 'none')
    const { shard } = owner.fence
    assert.deepEqual(
      [...(await store.answers(shard, ids))],
      ids.map((id) => model.outcome(id, now)),
    )
    assert.deepEqual(await store.counts(), this.#ledger.counts)
    this.operations += names.length
  }

  /** Sweeps everything, or everything before the place of a finished timer. */
  async #sweep({ owner, model }: Ground): Promise<void> {
    const row = this.#random.chance(0.5) ? this.#random.one([...model.finished.values()]) : undefined
    const below = row === undefined || row.revision === Infinity ? undefined : levelAfter(row)
    await this.#world.store.sweep(owner.fence, below)
    model.sweep(below ?? model.settledLevel)
  }

  async #readSettled({ owner, model }: Ground): Promise<void> {
    const names: TimerName[] = [...model.finished.values(), ...model.rows.values()].filter(() =>
      this.#random.chance(0.2),
    )
    names.push(this.#world.newName(owner.fence.shard))
    const found = await this.#world.store.findSettled(names)
    for (const [index, name] of names.entries()) model.checkSettled(name, found[index], this.#isReopened)
    this.operations += names.length
  }

  async #takeOver(place: Ground): Promise<void> {
    const { owner, model } = place
    const { store, clock } = this.#world
    if (this.#random.chance(0.5)) await store.release(owner.fence)
    else {
      for (const each of this.#places) {
        if (each !== place) await store.renew(each.owner.fence, 60_000)
      }
      await clock.advance(30_002)
    }
    place.owner = await this.#world.own(owner.fence.shard, `owner-${this.operations}`)
    samePlace(place.owner.readLevel, model.settledLevel)
    model.readLevel = model.settledLevel
    const operations = [setOf(this.#world.newName(owner.fence.shard), this.#world.now())]
    await refused('the one before', () => store.write(owner.fence, { operations }), 'fenced')
  }

  async #compareAll(): Promise<void> {
    const { store } = this.#world
    const namespace = NAMESPACE
    sameRows(
      await rowsOf(store),
      this.#places.flatMap(({ model }) => model.sorted()),
    )
    assert.deepEqual(await store.counts(), this.#ledger.counts)
    await addsUp(store)
    const dead = await pagesOf((cursor) => store.deadLetters({ namespace, limit: 500, cursor }))
    assert.deepEqual(dead.map(shownLetter).toSorted(), this.#ledger.dead.map(shownLetter).toSorted())
    const history = await pagesOf((cursor) => store.history({ namespace, limit: 500, cursor }))
    assert.deepEqual(history.map(shownEntry).toSorted(), this.#history.map(shownEntry).toSorted())
    for (const { owner, model } of this.#places) {
      const { settledLevel, readLevel, epoch } = await owner.row()
      samePlace(settledLevel, model.settledLevel)
      samePlace(readLevel, model.readLevel)
      assert.equal(epoch, owner.fence.epoch)
    }
  }

  #entry({ fence }: Owner): HistoryEntry {
    const { namespace, kind, key } = this.#world.newName(fence.shard)
    return { namespace, kind, key, identity: 1, at: this.#world.now(), event: 'noted', details: '' }
  }
}

/** What an operation adds to the history: its note, if it changed anything. */
function notesOf(operation: Operation, answer: OperationAnswer): HistoryEntry[] {
  if (operation.type === 'answer' || operation.note === undefined) return []
  const { namespace, kind, key, note } = operation
  switch (answer.outcome) {
    case 'set':
      assert.ok(operation.type === 'set')
      return [{ namespace, kind, key, identity: operation.identity, ...note }]
    case 'moved':
      return [{ namespace, kind, key, identity: answer.row.identity, ...note }]
    case 'cancelled':
      return [{ namespace, kind, key, identity: answer.removed.identity, ...note }]
    case 'same':
    case 'conflict':
    case 'unknown':
    case 'firing':
    case 'settled':
    case 'below-level':
    case 'answered-before':
    case 'expired':
      return []
  }
}

/** The operation as a process that does not own the shard requests it. */
function asked(operation: Operation) {
  assert.ok(operation.type !== 'answer')
  if (operation.type === 'cancel') return operation
  const { position: _, ...rest } = operation
  return rest
}

function shownOperation(operation: Operation): string {
  return JSON.stringify(operation, (name, value: unknown) => (name === 'payload' ? undefined : value))
}

function shownEntry({ namespace, kind, key, identity, at, event, details }: HistoryEntry): string {
  return JSON.stringify([namespace, kind, key, identity, at, event, details])
}
