import { describe, expect, it } from 'vitest'
import { during } from '../during.js'
import { PartialError, StoreError } from '../../src/error/index.js'
import { openTimers, timer, type Timers, type TimersEvent } from '../../src/front/index.js'
import { MemoryStore, type Store } from '../../src/store/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { shardOf } from '../../src/timer/index.js'
import { troubled } from './troubled-store.js'

const START = Date.UTC(2026, 0, 1)
const SHARDS = 4
const kind = timer<number>('kind', { retry: { attempts: 1 } })
const rows = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ key: `k${n}`, in: '1h', payload: n }))
const keys = (count: number) => rows(count).map(({ key }) => key)
const isOf = (shard: number) => (key: string) =>
  shardOf({ namespace: 'default', kind: 'kind', key }, SHARDS) === shard

/** An owner of every shard, and an instance whose requests to some shards fail. */
class Pair {
  readonly clock = new VirtualClock({ start: START })
  readonly store = new MemoryStore({ clock: this.clock, shardCount: SHARDS })
  readonly unreachable = new Set<number>()
  readonly calls: number[] = []
  readonly #opened: Timers[] = []
  owner!: Timers
  asker!: Timers

  async open(): Promise<this> {
    this.owner = await this.#open(this.store.connect())
    await this.during(this.owner.start())
    await this.clock.advance('10s')
    const through = this.store.connect()
    this.asker = await this.#open(
      troubled(through, {
        append: async (requests) => {
          const shard = requests[0]!.shard
          this.calls.push(shard)
          if (this.unreachable.has(shard)) throw new StoreError('store-unavailable', `no way to ${shard}`)
          return await through.append(requests)
        },
      }),
    )
    return this
  }

  async during<T>(work: Promise<T>): Promise<T> {
    return await during(this.clock, work, 100)
  }

  async stop(): Promise<void> {
    for (const timers of this.#opened) await this.during(timers.stop())
  }

  async #open(store: Store): Promise<Timers> {
    const timers = await this.during(openTimers({ store, clock: this.clock.fork() }))
    this.#opened.push(timers)
    return timers
  }
}

async function partialOf<T>(work: Promise<T>): Promise<PartialError<{ outcome: string } | string>> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(PartialError)
  return error as PartialError<{ outcome: string } | string>
}

describe('a call on many timers that fails for some of them', () => {
  it('says for setMany which rows were stored, so that the rest can be sent again', async () => {
    const pair = await new Pair().open()
    pair.unreachable.add(2)
    const error = await partialOf(pair.during(pair.asker.setMany(kind, rows(40))))
    expect(error).toMatchObject({ code: 'partly-done', untried: 0 })
    expect(error.cause).toMatchObject({ code: 'not-done', cause: { code: 'store-unavailable' } })
    expect(error.rows.map(({ key }) => key)).toEqual(keys(40))
    for (const { key, kind: of, answer, error: failure } of error.rows) {
      expect(of).toBe('kind')
      if (isOf(2)(key)) expect(failure).toMatchObject({ code: 'not-done' })
      else expect(answer).toMatchObject({ outcome: 'set', key, dueAt: expect.any(Number) })
    }
    await pair.clock.advance('5s')
    const stored = (await pair.owner.list({ kind, limit: 100 })).items.map(({ key }) => key).toSorted()
    expect(stored).toEqual(
      error.rows
        .filter(({ answer }) => answer !== undefined)
        .map(({ key }) => key)
        .toSorted(),
    )
    expect(stored.length).toBeGreaterThan(20)
    pair.unreachable.clear()
    const left = new Set(
      error.rows.flatMap(({ key, error: failure }) => (failure === undefined ? [] : [key])),
    )
    await pair.during(
      pair.asker.setMany(
        kind,
        rows(40).filter(({ key }) => left.has(key)),
      ),
    )
    await pair.clock.advance('5s')
    expect((await pair.owner.list({ kind, limit: 100 })).items).toHaveLength(40)
    await pair.stop()
  })

  it('throws the plain error if all rows failed with the same code', async () => {
    const pair = await new Pair().open()
    for (let shard = 0; shard < SHARDS; shard++) pair.unreachable.add(shard)
    await expect(pair.during(pair.asker.setMany(kind, rows(40)))).rejects.toMatchObject({
      name: 'LimitError',
      code: 'not-done',
      cause: { code: 'store-unavailable' },
    })
    await expect(pair.during(pair.asker.set(kind, 'a', { in: 1, payload: 1 }))).rejects.toMatchObject({
      name: 'LimitError',
      code: 'not-done',
      cause: { code: 'store-unavailable' },
    })
    expect((await pair.owner.list()).items).toEqual([])
    await pair.stop()
  })

  it('says for moveMany and cancelMany which timers were changed, and stops after the failed batch', async () => {
    const pair = await new Pair().open()
    await pair.during(pair.owner.setMany(kind, rows(2500)))
    pair.unreachable.add(1)
    const moving = await partialOf(
      pair.during(pair.asker.moveMany({ kind, keys: keys(2500) }, { at: START + 7_200_000 })),
    )
    expect(moving).toMatchObject({ code: 'partly-done', untried: 1500 })
    expect(moving.rows.map(({ key }) => key)).toEqual(keys(1000))
    const moved = moving.rows.filter(({ answer }) => answer === 'moved').map(({ key }) => key)
    expect(moved).toEqual(keys(1000).filter((key) => !isOf(1)(key)))
    const later = (await pair.owner.list({ dueFrom: START + 7_200_000, limit: 5000 })).items
    expect(later.map(({ key }) => key).toSorted()).toEqual(moved.toSorted())

    const cancelling = await partialOf(pair.during(pair.asker.cancelMany({ kind })))
    expect(cancelling.untried).toBe(1500)
    const gone = new Set(cancelling.rows.flatMap(({ key, answer }) => (answer === undefined ? [] : [key])))
    expect(gone.size).toBeGreaterThan(100)
    const left = (await pair.owner.list({ limit: 5000 })).items.map(({ key }) => key).toSorted()
    expect(left).toEqual(
      keys(2500)
        .filter((key) => !gone.has(key))
        .toSorted(),
    )
    pair.unreachable.clear()
    const rest = await pair.during(pair.asker.cancelMany({ kind }))
    expect(rest).toEqual({ found: 2500 - gone.size, cancelled: 2500 - gone.size })
    await pair.stop()
  }, 30_000)

  it('says for redrive which letters were set again', async () => {
    const pair = await new Pair().open()
    let isWell = false
    pair.owner.handle(kind, () => {
      if (!isWell) throw new Error('no')
    })
    await pair.during(pair.owner.setMany(kind, rows(40)))
    await pair.clock.advance('2h')
    const { items } = await pair.owner.dead({ limit: 100 })
    expect(items).toHaveLength(40)
    isWell = true
    pair.unreachable.add(3)
    const error = await partialOf(pair.during(pair.asker.redrive({ kind })))
    const done = error.rows.filter(({ answer }) => answer !== undefined)
    expect(done.map(({ answer }) => answer)).toEqual(
      done.map(({ key }) => expect.objectContaining({ outcome: 'set', of: key, key })),
    )
    const left = (await pair.owner.dead({ limit: 100 })).items.map(({ key }) => key).toSorted()
    expect(left).toEqual(keys(40).filter(isOf(3)).toSorted())
    await pair.stop()
  })
})

describe('a periodic task', () => {
  it('reports a failing store as an event and to the logger, and goes on', async () => {
    const clock = new VirtualClock({ start: START })
    const store = new MemoryStore({ clock })
    const through = store.connect()
    const events: TimersEvent[] = []
    const lines: string[] = []
    let isBad = false
    const timers = await openTimers({
      store: troubled(through, {
        settings: async (prefix) => {
          if (isBad) throw new StoreError('store-unavailable', 'no answer')
          return await through.settings(prefix)
        },
        pruneHistory: async (before) => {
          if (isBad) throw new StoreError('store-unavailable', 'no broom')
          return await through.pruneHistory(before)
        },
      }),
      clock,
      onEvent: (event) => events.push(event),
      logger: { info: () => undefined, warn: (_, message) => lines.push(message) },
    })
    const fired: string[] = []
    timers.handle(kind, ({ key }) => {
      fired.push(key)
    })
    const starting = timers.start()
    await clock.advance('10s')
    await starting
    isBad = true
    await clock.advance('3h')
    const calls = new Set(events.flatMap((event) => (event.type === 'store-trouble' ? [event.call] : [])))
    expect([...calls].toSorted()).toEqual(['pruneHistory', 'settings'])
    expect(lines).toContain('settings failed and will be retried: no answer')
    isBad = false
    // A pause of another instance is applied again.
    const other = await openTimers({ store: store.connect(), clock })
    await other.pause(kind)
    await clock.advance('5s')
    const setting = timers.set(kind, 'a', { in: 0, payload: 1 })
    await clock.advance('5s')
    await setting
    expect(fired).toEqual([])
    const stopping = Promise.all([timers.stop(), other.stop()])
    await clock.advance('20s')
    await stopping
  })
})
