import fc from 'fast-check'
import { createClient, RESP_TYPES } from 'redis'
import { afterAll, describe, expect, it } from 'vitest'
import { RedisStore } from '../../../src/store/redis/redis-store.js'
import { chunkRows, eachInChunk } from '../../../src/store/redis/chunk.js'
import { sheetOf } from '../../../src/store/redis/sheet.js'
import { placeText } from '../../../src/store/redis/place-text.js'
import type { Operation } from '../../../src/store/index.js'
import { comparePlaces, type Place } from '../../../src/timer/index.js'
import { startOwnRedis } from '../../servers/redis.js'
import { own, setOf } from '../owner.js'
import { withNewPrefix } from './prefix.js'
import { openAt } from './scratch.js'

const server = await startOwnRedis()
const raw = createClient({ url: server.url }).withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
await raw.connect()
afterAll(async () => {
  raw.destroy()
  await server.stop()
})

const name = (key: string) => ({ namespace: 'test', kind: 'sample', key })
const BUCKET_MS = 2000
const HORIZON_MS = 6000
const NO_LIMIT = 1e9

interface Row extends Place {
  readonly key: string
  readonly identity: number
  readonly text: string
}

/** What the store must hold: rows by key, and the two levels. */
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

/** Two clients of one store, who write in turn and so are mistaken about the last revision, and the model. */
class World {
  readonly model = new Model()
  readonly #prefix: string
  readonly #stores: readonly RedisStore[]
  #fence: Awaited<ReturnType<typeof own>>
  #keys = 0
  #settlements = 0

  private constructor(prefix: string, stores: readonly RedisStore[], fence: Awaited<ReturnType<typeof own>>) {
    this.#prefix = prefix
    this.#stores = stores
    this.#fence = fence
  }

  static async open(): Promise<World> {
    const url = withNewPrefix(server.url)
    const tuning = { bucketMs: BUCKET_MS, partRows: 12, chunkRows: 3 }
    const open = async () => await RedisStore.open(url, { shardCount: 1, tuning })
    const stores = [await open(), await open()]
    return new World(url.slice(url.indexOf('prefix=') + 7), stores, await own(stores[0]!))
  }

  async stop(): Promise<void> {
    for (const store of this.#stores) await store.stop()
  }

  get #store(): RedisStore {
    return this.#stores[0]!
  }

  /** A call of new timers, all of them plain. */
  async call(by: number, positions: readonly number[], weight: number): Promise<void> {
    const sets = positions.map((at) => {
      const key = `key-${this.#keys++}`
      const payload = Buffer.from(`${key} ${'x'.repeat(weight)}`)
      return setOf(key, Math.max(at, this.model.settled.position), { payload })
    })
    const { answers } = await this.#stores[by]!.write(this.#fence, { operations: sets })
    for (const [index, answer] of answers.entries()) {
      const { key, identity, payload, position } = sets[index]!
      expect(answer).toMatchObject({ outcome: 'set', place: { position, revision: ++this.model.revision } })
      const text = Buffer.from(payload).toString()
      this.model.rows.set(key, { key, identity, text, position, revision: this.model.revision })
      this.model.everyKey.push(key)
    }
  }

  /** Cancels, moves or sets anew, those that are there no more too. */
  async change(verb: 'cancel' | 'move' | 'set', picks: readonly number[], to: number): Promise<void> {
    const position = Math.max(to, this.model.settled.position)
    const keys = [...new Set(picks.flatMap((pick) => this.model.keyAt(pick) ?? []))]
    if (keys.length === 0) return
    const operations = keys.map((key): Operation => {
      if (verb === 'cancel') return { type: 'cancel', ...name(key) }
      if (verb === 'move') return { type: 'move', ...name(key), dueAt: position, position }
      return setOf(key, position)
    })
    const { answers } = await this.#store.write(this.#fence, { operations })
    for (const [index, key] of keys.entries()) {
      const [answer, operation, row] = [answers[index]!, operations[index]!, this.model.rows.get(key)]
      if (operation.type === 'set') {
        const { identity, payload } = operation
        expect(answer).toMatchObject({ outcome: 'set', place: { revision: ++this.model.revision } })
        const text = Buffer.from(payload).toString()
        this.model.rows.set(key, { key, identity, text, position, revision: this.model.revision })
      } else if (row === undefined) {
        expect(answer.outcome).toBe('unknown')
      } else if (verb === 'cancel') {
        const { identity, revision } = row
        expect(answer).toMatchObject({ outcome: 'cancelled', removed: { identity, revision } })
        this.model.rows.delete(key)
      } else {
        const revision = ++this.model.revision
        expect(answer).toMatchObject({ outcome: 'moved', row: { position, revision } })
        expect(answer.outcome === 'moved' && String(answer.row.payload)).toBe(row.text)
        this.model.rows.set(key, { ...row, position, revision })
      }
    }
  }

  async load(untilExclusive: number, limit: number, limitBytes: number): Promise<void> {
    const from = this.model.readLevel
    const loaded = await this.#store.load(this.#fence, { from, untilExclusive, limit, limitBytes })
    const { page, readLevel, nextPosition } = loaded
    expect(comparePlaces(readLevel, from)).toBeGreaterThanOrEqual(0)
    const rows = Array.from({ length: page.size }, (_, index) => page.row(index))
    this.#same(rows, this.model.inOrder(from, readLevel))
    expect(rows.length).toBeLessThanOrEqual(limit)
    const end = { position: untilExclusive, revision: 0 }
    const [wanted] = this.model.inOrder(from, end)
    if (wanted !== undefined) expect(rows.length, 'one row at least').toBeGreaterThan(0)
    // Rows that were taken out of a chunk weigh too: they are sent.
    const isCutByCount = limitBytes === NO_LIMIT && comparePlaces(readLevel, end) < 0
    if (isCutByCount && comparePlaces(from, end) < 0) expect(rows.length).toBe(limit)
    const [next] = this.model.inOrder(readLevel)
    if (next !== undefined) expect(nextPosition ?? Infinity).toBeLessThanOrEqual(next.position)
    this.model.readLevel = readLevel
  }

  /** Settles some of what was loaded up to a level, ends or carries others behind it, and sweeps. */
  async settle(share: number): Promise<void> {
    const { model } = this
    const loaded = model.inOrder(model.settled, model.readLevel)
    const row = loaded[Math.floor(loaded.length * share)]
    const level = row === undefined ? model.readLevel : { position: row.position, revision: row.revision }
    const gone = model.inOrder(model.settled, level)
    const behind = (
      await this.#store.find(model.inOrder(level, model.readLevel).map(({ key }) => name(key)))
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
    for (const { key } of [...gone, ...done]) model.rows.delete(key)
    for (const [index, { row: carried, position }] of followUps.entries()) {
      const revision = ++model.revision
      expect(answer.followUps[index]).toMatchObject({ key: carried.key, position, revision, attempt: 2 })
      model.rows.set(carried.key, { ...model.rows.get(carried.key)!, position, revision })
    }
    model.settled = level
    this.#fence = { ...this.#fence, settledLevel: level }
    while ((await this.#store.sweep(this.#fence)).more);
  }

  /** Another owner begins at the settled level. */
  async takeOver(): Promise<void> {
    await this.#store.release(this.#fence)
    this.#fence = await own(this.#store)
    expect(this.#fence.readLevel).toEqual(this.model.settled)
    this.model.readLevel = this.#fence.readLevel
  }

  /** Everything that can be read says what the model says. */
  async check(): Promise<void> {
    const { model } = this
    const all = model.inOrder(model.settled)
    const { items } = await this.#store.list({ namespace: 'test', limit: 10_000 })
    this.#same(items, all)
    const found = await this.#store.find(model.everyKey.map(name))
    this.#same(
      found.flatMap((row) => row ?? []),
      model.everyKey.flatMap((key) => model.rows.get(key) ?? []),
    )
    expect(await this.#store.countRows()).toBe(all.length)
    expect((await this.#store.tallies())[0]!.rows).toBe(all.length)
    const usage = await this.#store.usage('test')
    expect(usage).toEqual({ timers: all.length, bytes: all.reduce((sum, { text }) => sum + text.length, 0) })
    const slices = await this.#store.histogram({ fromInclusive: 0, untilExclusive: 10_000, sliceMs: 500 })
    const expected = slices.map(
      (_, slice) => all.filter(({ position }) => Math.floor(position / 500) === slice).length,
    )
    expect(slices).toEqual(expected)
    await this.#checkLayout()
  }

  /** Each row lies in the part of its place, no part is empty, a chunk knows how many of its rows stand, names lead to rows. */
  async #checkLayout(): Promise<void> {
    const shard = `{${this.#prefix}:0}`
    const parts = (await raw.zRange(`${shard}:parts3`, 0, -1)).map(String)
    const seen: string[] = []
    for (const [index, part] of parts.entries()) {
      const places = (await raw.hKeys(`${shard}:p:${part}`)).map(String)
      const chunk = (await raw.get(`${shard}:c:${part}`)) as Buffer | null
      if (chunk !== null) {
        const sheet = sheetOf(Buffer.from(chunk))
        const before = places.length
        eachInChunk(sheet, (position, revision) => places.push(placeText({ position, revision })))
        expect(sheet.view.getUint32(4, true), 'rows of a chunk that stand').toBe(places.length - before)
        expect(chunkRows(sheet)).toBeLessThanOrEqual(12)
      }
      expect(places.length, `rows of part ${part}`).toBeGreaterThan(0)
      const after = parts[index + 1] ?? 'g'
      for (const place of places) expect(part <= place && place < after, `${place} in ${part}`).toBe(true)
      seen.push(...places)
    }
    const keys = (await raw.keys(`${shard}:[pc]:*`)).map(String)
    const unknown = keys.filter((key) => !parts.includes(key.slice(key.lastIndexOf(':') + 1)))
    expect(unknown, 'keys of parts that are not there').toEqual([])
    // A name leads to its row, or, until that is swept, to one that is settled.
    for (const [text, entry] of Object.entries(await raw.hGetAll(`${shard}:names`))) {
      if (text !== '') expect(seen, `where the name ${text} leads`).toContain(String(entry).slice(0, 26))
    }
    const { settled } = this.model
    const standing = seen.filter((place) => place >= placeText(settled)).toSorted()
    expect(standing).toEqual(this.model.inOrder(settled).map(placeText))
  }

  #same(
    rows: readonly (Place & { key: string; identity: number; payload: Uint8Array })[],
    expected: readonly Row[],
  ): void {
    expect(
      rows.map(({ key, identity, payload, position, revision }) => {
        return { key, identity, text: Buffer.from(payload).toString(), position, revision }
      }),
    ).toEqual(expected)
  }
}

const at = fc.nat({ max: HORIZON_MS })
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('call' as const),
      by: fc.nat({ max: 1 }),
      start: at,
      step: fc.constantFrom(0, 0, 1, 7, 40),
      count: fc.integer({ min: 1, max: 30 }),
      isShuffled: fc.boolean(),
      weight: fc.constantFrom(0, 30, 300),
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

async function take(world: World, command: typeof step extends fc.Arbitrary<infer T> ? T : never) {
  switch (command.type) {
    case 'call': {
      const positions = Array.from({ length: command.count }, (_, i) => command.start + i * command.step)
      if (command.isShuffled) positions.sort((a, b) => ((a * 7919) % 101) - ((b * 7919) % 101))
      return await world.call(command.by, positions, command.weight)
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

describe('rows of a call that are kept together', () => {
  it('are loaded, found, changed, counted, settled and swept like any other', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (commands) => {
        const world = await World.open()
        try {
          for (const [index, command] of commands.entries()) {
            await take(world, command)
            if (index % 10 === 9) await world.check()
          }
          await world.check()
        } finally {
          await world.stop()
        }
      }),
      { numRuns: 120, interruptAfterTimeLimit: 90_000 },
    )
  }, 120_000)

  it('lie in a chunk when they are many and come in the order of time, and otherwise do not', async () => {
    const url = withNewPrefix(server.url)
    const store = await openAt(url)
    const fence = await own(store)
    const shard = `{${url.slice(url.indexOf('prefix=') + 7)}:0}`
    const chunks = async () => (await raw.keys(`${shard}:c:*`)).length
    const call = async (count: number, from: number, weight = 10) =>
      await store.write(fence, {
        operations: Array.from({ length: count }, (_, index) =>
          setOf(`${from}-${index}`, from + index, { payload: Buffer.alloc(weight) }),
        ),
      })
    await call(127, 1000)
    expect(await chunks(), 'few').toBe(0)
    await call(128, 2000)
    expect(await chunks(), 'many').toBe(1)
    await call(500, 3000)
    expect(await chunks(), 'many behind them').toBe(2)
    await call(500, 1500)
    expect(await chunks(), 'many between few and many').toBe(3)
    await call(200, 100)
    expect(await chunks(), 'many before few and many').toBe(4)
    await call(500, 3250)
    expect(await chunks(), 'many among others').toBe(4)
    await call(500, 10_000, 500)
    expect(await chunks(), 'many, too heavy for one').toBe(6)
    await call(128, 20_000, 4000)
    expect(await chunks(), 'as many, heavy by themselves').toBe(6)
    expect(await store.countRows()).toBe(127 + 128 + 500 + 500 + 200 + 500 + 500 + 128)
  })

  it('make room when most of them were taken out, and come back as rows when few are left', async () => {
    const url = withNewPrefix(server.url)
    const store = await openAt(url)
    const fence = await own(store)
    const shard = `{${url.slice(url.indexOf('prefix=') + 7)}:0}`
    const sets = Array.from({ length: 1000 }, (_, index) => setOf(`key-${index}`, 1000 + index))
    await store.write(fence, { operations: sets })
    const [chunk] = await raw.keys(`${shard}:c:*`)
    const bytes = async () => Number(await raw.strLen(chunk!))
    const whole = await bytes()
    const cancel = async (from: number, end: number) =>
      await store.write(fence, {
        operations: sets.slice(from, end).map(({ key }) => ({ type: 'cancel', ...name(key) })),
      })
    await cancel(0, 500)
    expect(await bytes(), 'half of them').toBe(whole)
    await cancel(500, 501)
    expect(await bytes(), 'more than half').toBeLessThan(whole / 1.9)
    await cancel(501, 900)
    expect(await raw.exists(chunk!), 'nearly all').toBe(0)
    const left = sets.slice(900)
    expect((await store.find(left)).map((row) => row?.identity)).toEqual(left.map(({ identity }) => identity))
    const from = { position: 0, revision: 0 }
    const page = { from, untilExclusive: 5000, limit: 10, limitBytes: 1e9 }
    const loaded = await store.load(fence, page)
    expect([...loaded.page.positions]).toEqual(left.slice(0, 10).map(({ position }) => position))
    await cancel(900, 1000)
    expect(await raw.keys(`${shard}:[pc]:*`)).toEqual([])
    const rest = await store.load(fence, { ...page, from: loaded.readLevel })
    expect(rest.nextPosition).toBeUndefined()
  })

  it('of whom none stands behind a level have no next position', async () => {
    const store = await openAt(withNewPrefix(server.url))
    const fence = await own(store)
    const sets = Array.from({ length: 200 }, (_, index) => setOf(`key-${index}`, 1000 + index))
    await store.write(fence, { operations: sets })
    await store.write(fence, {
      operations: sets.slice(150).map(({ key }) => ({ type: 'cancel', ...name(key) })),
    })
    const from = { position: 0, revision: 0 }
    const { page, nextPosition } = await store.load(fence, {
      from,
      untilExclusive: 1150,
      limit: 1000,
      limitBytes: 1e9,
    })
    expect(page.size).toBe(150)
    expect(nextPosition).toBeUndefined()
  })

  it('that were taken out count as what they weigh when others are sent with them', async () => {
    const store = await openAt(withNewPrefix(server.url))
    const fence = await own(store)
    const payload = Buffer.alloc(1000)
    for (let call = 0; call < 20; call++) {
      const sets = Array.from({ length: 200 }, (_, index) =>
        setOf(`${call}-${index}`, 1000 * call + index, { payload }),
      )
      await store.write(fence, { operations: sets })
      const operations = sets.slice(10, 105).map(({ key }): Operation => ({ type: 'cancel', ...name(key) }))
      await store.write(fence, { operations })
    }
    let from: Place = { position: 0, revision: 0 }
    const sizes: number[] = []
    for (let sum = 0; sum < 20 * 105; sum += sizes.at(-1)!) {
      const request = { from, untilExclusive: 100_000, limit: 10_000, limitBytes: 500_000 }
      const { page, readLevel } = await store.load(fence, request)
      sizes.push(page.size)
      from = readLevel
    }
    // A call is 200 kB with what was taken out of it, and 105 rows.
    expect(Math.max(...sizes)).toBeLessThan(350)
  })

  it('are never made by a store of claims', async () => {
    const url = withNewPrefix(server.url)
    const store = await openAt(url, { strategy: 'claim' })
    const operations = Array.from({ length: 100 }, (_, index) => setOf(`key-${index}`, 1000 + index))
    await store.write(undefined, { operations })
    expect(await raw.keys(`{${url.slice(url.indexOf('prefix=') + 7)}:0}:c:*`)).toEqual([])
    const claimed = await store.claimDue({ owner: 'me', limit: 1000, leaseMs: 1000 })
    expect(claimed.length).toBe(100)
  })
})

describe('a store of layout 2', () => {
  it('is brought to layout 3, and whoever knows only layout 2 no longer reads or writes it', async () => {
    const url = withNewPrefix(server.url)
    const prefix = url.slice(url.indexOf('prefix=') + 7)
    const shard = `{${prefix}:0}`
    const before = await openAt(url)
    const sets = Array.from({ length: 50 }, (_, index) => setOf(`key-${index}`, 1000 + index))
    await before.write(await own(before), { operations: sets })
    await raw.rename(`${shard}:parts3`, `${shard}:parts`)
    await raw.hSet(`{${prefix}}`, 'version', '2')
    // Two who come at once both do it.
    const [store] = await Promise.all([openAt(url), openAt(url)])
    expect(String(await raw.hGet(`{${prefix}}`, 'version'))).toBe('3')
    const found = await store.list({ namespace: 'test', limit: 100 })
    expect(found.items.map(({ key }) => key)).toEqual(sets.map(({ key }) => key))
    await expect(raw.zRange(`${shard}:parts`, 0, -1)).rejects.toThrow('WRONGTYPE')
  })
})
