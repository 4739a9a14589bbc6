import assert from 'node:assert/strict'
import fc from 'fast-check'
import { createClient, RESP_TYPES } from 'redis'
import { RedisStore } from '../../../src/store/redis/redis-store.js'
import { chunkRows, eachInChunk } from '../../../src/store/redis/codec/chunk.js'
import { placeText } from '../../../src/store/redis/codec/place-codec.js'
import { byteViewOf } from '../../../src/store/redis/codec/byte-view.js'
import type { Operation, OperationAnswer } from '../../../src/store/index.js'
import { comparePlaces, type Place, type TimerRow } from '../../../src/timer/index.js'
import { own, setOf } from '../owner.js'
import { prefixOf, withNewPrefix } from './prefix.js'

type RawClient = ReturnType<typeof rawClient>

/** A client whose replies are bytes, not strings. */
export function rawClient(url: string) {
  return createClient({ url }).withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
}

const nameOf = (key: string) => ({ namespace: 'test', kind: 'sample', key })
const BUCKET_MS = 2000
const PART_ROWS = 12
const HORIZON_MS = 6000
const NO_LIMIT = 1e9

interface Row extends Place {
  readonly key: string
  readonly identity: number
  readonly text: string
}

/** The expected content of the store: rows by key, and the two levels. */
class Model {
  readonly rows = new Map<string, Row>()
  readonly everyKey: string[] = []
  readLevel: Place = { position: 0, revision: 0 }
  settled: Place = { position: 0, revision: 0 }
  revision = 0

  inOrder(from: Place, until?: Place): Row[] {
    return [...this.rows.values()]
      .filter(
        (row) => comparePlaces(row, from) >= 0 && (until === undefined || comparePlaces(row, until) < 0),
      )
      .toSorted(comparePlaces)
  }

  keyAt(pick: number): string | undefined {
    return this.everyKey[pick % Math.max(1, this.everyKey.length)]
  }
}

/**
 * Two clients of one store, and the model. The clients write in turn, so each one's prediction of the last revision is
 * often wrong.
 */
export class ChunkWorld {
  readonly model = new Model()
  readonly #raw: RawClient
  readonly #prefix: string
  readonly #stores: readonly RedisStore[]
  #fence: Awaited<ReturnType<typeof own>>
  #keys = 0
  #settlements = 0

  private constructor(
    raw: RawClient,
    prefix: string,
    stores: readonly RedisStore[],
    fence: Awaited<ReturnType<typeof own>>,
  ) {
    this.#raw = raw
    this.#prefix = prefix
    this.#stores = stores
    this.#fence = fence
  }

  static async open(url: string, raw: RawClient): Promise<ChunkWorld> {
    const storeUrl = withNewPrefix(url)
    const tuning = { bucketMs: BUCKET_MS, partRows: PART_ROWS, chunkRows: 3 }
    const open = async () => await RedisStore.open(storeUrl, { shardCount: 1, tuning })
    const stores = [await open(), await open()]
    return new ChunkWorld(raw, prefixOf(storeUrl), stores, await own(stores[0]!))
  }

  async stop(): Promise<void> {
    for (const store of this.#stores) await store.stop()
  }

  get #store(): RedisStore {
    return this.#stores[0]!
  }

  /** Writes new timers with one call of plain sets. */
  async call(by: number, positions: readonly number[], payloadBytes: number): Promise<void> {
    const sets = positions.map((at) => {
      const key = `key-${this.#keys++}`
      const payload = Buffer.from(`${key} ${'x'.repeat(payloadBytes)}`)
      return setOf(key, Math.max(at, this.model.settled.position), { payload })
    })
    const { answers } = await this.#stores[by]!.write(this.#fence, { operations: sets })
    for (const [index, answer] of answers.entries()) {
      const { key, identity, payload, position } = sets[index]!
      assert.deepEqual(placeIn(answer), { outcome: 'set', position, revision: ++this.model.revision })
      const text = Buffer.from(payload).toString()
      this.model.rows.set(key, { key, identity, text, position, revision: this.model.revision })
      this.model.everyKey.push(key)
    }
  }

  /** Cancels, moves or sets timers again, including timers that no longer exist. */
  async change(verb: 'cancel' | 'move' | 'set', picks: readonly number[], to: number): Promise<void> {
    const position = Math.max(to, this.model.settled.position)
    const keys = [...new Set(picks.flatMap((pick) => this.model.keyAt(pick) ?? []))]
    if (keys.length === 0) return
    const operations = keys.map((key): Operation => {
      if (verb === 'cancel') return { type: 'cancel', ...nameOf(key) }
      if (verb === 'move') return { type: 'move', ...nameOf(key), dueAt: position, position }
      return setOf(key, position)
    })
    const { answers } = await this.#store.write(this.#fence, { operations })
    for (const [index, key] of keys.entries()) {
      const [answer, operation, row] = [answers[index]!, operations[index]!, this.model.rows.get(key)]
      if (operation.type === 'set') {
        const { identity, payload } = operation
        assert.deepEqual(placeIn(answer), { outcome: 'set', position, revision: ++this.model.revision })
        const text = Buffer.from(payload).toString()
        this.model.rows.set(key, { key, identity, text, position, revision: this.model.revision })
      } else if (row === undefined) {
        assert.equal(answer.outcome, 'unknown')
      } else if (verb === 'cancel') {
        const { position: oldPosition, revision } = row
        assert.deepEqual(placeIn(answer), { outcome: 'cancelled', position: oldPosition, revision })
        this.model.rows.delete(key)
      } else {
        const revision = ++this.model.revision
        assert.deepEqual(placeIn(answer), { outcome: 'moved', position, revision })
        assert.equal(answer.outcome === 'moved' && String(answer.row.payload), row.text)
        this.model.rows.set(key, { ...row, position, revision })
      }
    }
  }

  async load(untilExclusive: number, limit: number, limitBytes: number): Promise<void> {
    const from = this.model.readLevel
    const loaded = await this.#store.load(this.#fence, { from, untilExclusive, limit, limitBytes })
    const { page, readLevel, nextPosition } = loaded
    assert.ok(comparePlaces(readLevel, from) >= 0, 'the read level must not go back')
    const rows = Array.from({ length: page.size }, (_, index) => page.row(index))
    this.#assertSame(rows, this.model.inOrder(from, readLevel))
    assert.ok(rows.length <= limit, `${rows.length} rows, limit ${limit}`)
    const end = { position: untilExclusive, revision: 0 }
    const [wanted] = this.model.inOrder(from, end)
    if (wanted !== undefined) assert.ok(rows.length > 0, 'a load must return at least one row')
    // Removed rows of a chunk count toward limitBytes, because they are sent.
    const isCutByCount = limitBytes === NO_LIMIT && comparePlaces(readLevel, end) < 0
    if (isCutByCount && comparePlaces(from, end) < 0) assert.equal(rows.length, limit)
    const [next] = this.model.inOrder(readLevel)
    if (next !== undefined) assert.ok((nextPosition ?? Infinity) <= next.position, `next=${nextPosition}`)
    this.model.readLevel = readLevel
  }

  /** Settles a part of the loaded rows by level, settles or carries some rows above it, and sweeps. */
  async settle(share: number): Promise<void> {
    const { model } = this
    const loaded = model.inOrder(model.settled, model.readLevel)
    const row = loaded[Math.floor(loaded.length * share)]
    const level = row === undefined ? model.readLevel : { position: row.position, revision: row.revision }
    const gone = model.inOrder(model.settled, level)
    const behind = (
      await this.#store.find(model.inOrder(level, model.readLevel).map(({ key }) => nameOf(key)))
    ).map((found) => found!)
    const done = behind.filter((_, index) => index % 5 === 0)
    const followUps = behind
      .filter((_, index) => index % 5 === 1)
      .map((carried) => ({
        row: carried,
        position: carried.position + 500,
        dueAt: carried.position + 500,
        attempt: 2,
        occurrence: 0,
      }))
    const settlement = { done, followUps, dead: [], history: [], settledCount: gone.length, level }
    const answer = await this.#store.settle(this.#fence, { id: ++this.#settlements, ...settlement })
    // A row that is settled by its name is put just below the level.
    if (level.position > 0) model.revision += done.length
    for (const { key } of [...gone, ...done]) model.rows.delete(key)
    for (const [index, { row: carried, position }] of followUps.entries()) {
      const revision = ++model.revision
      const next = answer.followUps[index]!
      assert.deepEqual(
        [next.key, next.position, next.revision, next.attempt],
        [carried.key, position, revision, 2],
      )
      model.rows.set(carried.key, { ...model.rows.get(carried.key)!, position, revision })
    }
    model.settled = level
    this.#fence = { ...this.#fence, settledLevel: level }
    while ((await this.#store.sweep(this.#fence)).more);
  }

  /** A new owner takes over. It begins at the settled level. */
  async takeOver(): Promise<void> {
    await this.#store.release(this.#fence)
    this.#fence = await own(this.#store)
    assert.deepEqual(this.#fence.readLevel, this.model.settled)
    this.model.readLevel = this.#fence.readLevel
  }

  /** All rows, as the store lists them. */
  async listed(): Promise<Row[]> {
    const { items } = await this.#store.list({ namespace: 'test', limit: 10_000 })
    return items.map(shown)
  }

  /** Compares every way to read the store with the model. */
  async check(): Promise<void> {
    const { model } = this
    const all = model.inOrder(model.settled)
    assert.deepEqual(await this.listed(), all)
    const found = await this.#store.find(model.everyKey.map(nameOf))
    this.#assertSame(
      found.flatMap((row) => row ?? []),
      model.everyKey.flatMap((key) => model.rows.get(key) ?? []),
    )
    assert.equal(await this.#store.countRows(), all.length)
    assert.equal((await this.#store.tallies())[0]!.rows, all.length)
    const usage = await this.#store.usage('test')
    assert.deepEqual(usage, {
      timers: all.length,
      bytes: all.reduce((sum, { text }) => sum + text.length, 0),
    })
    const slices = await this.#store.histogram({ fromInclusive: 0, untilExclusive: 10_000, sliceMs: 500 })
    const expected = slices.map(
      (_, slice) => all.filter(({ position }) => Math.floor(position / 500) === slice).length,
    )
    assert.deepEqual(slices, expected)
    await this.#checkLayout()
  }

  /**
   * Checks the layout: each row is in the part of its place, no part is empty, a chunk counts its live rows, names lead
   * to rows.
   */
  async #checkLayout(): Promise<void> {
    const shard = `{${this.#prefix}:0}`
    const parts = (await this.#raw.zRange(`${shard}:parts3`, 0, -1)).map(String)
    const seen: string[] = []
    for (const [index, part] of parts.entries()) {
      const places = (await this.#raw.hKeys(`${shard}:p:${part}`)).map(String)
      const chunk = await this.#raw.get(`${shard}:c:${part}`)
      if (chunk !== null) {
        const bytes = byteViewOf(Buffer.from(chunk))
        const before = places.length
        eachInChunk(bytes, (position, revision) => places.push(placeText({ position, revision })))
        assert.equal(bytes.view.getUint32(4, true), places.length - before, 'the live rows of a chunk')
        assert.ok(chunkRows(bytes) <= PART_ROWS, `a chunk has ${chunkRows(bytes)} rows`)
      }
      assert.ok(places.length > 0, `part ${part} is empty`)
      const after = parts[index + 1] ?? 'g'
      for (const place of places) assert.ok(part <= place && place < after, `${place} in ${part}`)
      seen.push(...places)
    }
    const keys = (await this.#raw.keys(`${shard}:[pc]:*`)).map(String)
    const unknown = keys.filter((key) => !parts.includes(key.slice(key.lastIndexOf(':') + 1)))
    assert.deepEqual(unknown, [], 'there are keys of unlisted parts')
    // A name leads to its row or, until the next sweep, to a settled row.
    for (const [text, entry] of Object.entries(await this.#raw.hGetAll(`${shard}:names`))) {
      if (text !== '') assert.ok(seen.includes(String(entry).slice(0, 26)), `the name ${text} leads nowhere`)
    }
    const { settled } = this.model
    const live = seen.filter((place) => place >= placeText(settled)).toSorted()
    assert.deepEqual(live, this.model.inOrder(settled).map(placeText))
  }

  #assertSame(rows: readonly TimerRow[], expected: readonly Row[]): void {
    assert.deepEqual(rows.map(shown), expected)
  }
}

/** The outcome of an operation, and the place of its row after it, or before it for a cancel. */
function placeIn(answer: OperationAnswer): { outcome: string } & Partial<Place> {
  const { outcome } = answer
  const place =
    outcome === 'set'
      ? answer.place
      : outcome === 'moved'
        ? answer.row
        : outcome === 'cancelled'
          ? answer.removed
          : undefined
  return place === undefined ? { outcome } : { outcome, position: place.position, revision: place.revision }
}

function shown({ key, identity, payload, position, revision }: TimerRow): Row {
  return { key, identity, text: Buffer.from(payload).toString(), position, revision }
}

const at = fc.nat({ max: HORIZON_MS })
/** One random step. */
export const anyStep = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('call' as const),
      by: fc.nat({ max: 1 }),
      start: at,
      step: fc.constantFrom(0, 0, 1, 7, 40),
      count: fc.integer({ min: 1, max: 30 }),
      isShuffled: fc.boolean(),
      payloadBytes: fc.constantFrom(0, 30, 300),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('change' as const),
      verb: fc.constantFrom('cancel' as const, 'move' as const, 'set' as const),
      picks: fc.array(fc.nat(), { maxLength: 12 }),
      to: at,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('load' as const),
      until: at,
      limit: fc.integer({ min: 1, max: 40 }),
      limitBytes: fc.constantFrom(1, 2000, 10_000, NO_LIMIT),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('settle' as const), share: fc.double({ min: 0, max: 1 }) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('takeOver' as const) }) },
)

type Step = typeof anyStep extends fc.Arbitrary<infer Each> ? Each : never

/** Takes one step, and compares the answers with the model. */
export async function takeStep(world: ChunkWorld, command: Step): Promise<void> {
  switch (command.type) {
    case 'call': {
      const positions = Array.from({ length: command.count }, (_, i) => command.start + i * command.step)
      if (command.isShuffled) positions.sort((a, b) => ((a * 7919) % 101) - ((b * 7919) % 101))
      return await world.call(command.by, positions, command.payloadBytes)
    }
    case 'change':
      return await world.change(command.verb, command.picks, command.to)
    case 'load':
      return await world.load(command.until, command.limit, command.limitBytes)
    case 'settle':
      return await world.settle(command.share)
    case 'takeOver':
      return await world.takeOver()
  }
}
