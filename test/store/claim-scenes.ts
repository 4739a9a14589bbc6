import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { openTimers, timer, type Timers, type TimersOptions } from '../../src/index.js'
import { openStore, type StoreUrl } from '../../src/store/index.js'
import { TcpProxy } from '../servers/tcp-proxy.js'
import { until } from '../eventually.js'

const ring = timer<{ dueAt: number }>('ring', { concurrency: 200, retry: { backoff: '20ms..100ms' } })
const slow = timer('slow', { concurrency: 200 })

const quick: NonNullable<TimersOptions['engine']> = {
  strategy: 'claim',
  leaseMs: 1500,
  leaseMarginMs: 300,
  heartbeatMs: 300,
  retryMs: 50,
}

/** The server on which the scenes run. */
interface Stage {
  /** The URL of a new store. */
  readonly newUrl: () => StoreUrl
  /** The port of the server in these URLs. */
  readonly port: () => number
}

/** The mode `claim` on a real server: the same scenes for every store that has it. */
export function playClaims({ newUrl, port }: Stage): void {
  const all: Timers[] = []
  const proxies: TcpProxy[] = []

  afterEach(async () => {
    for (const timers of all.splice(0)) await timers.stop()
    for (const proxy of proxies.splice(0)) await proxy.stop()
  })

  async function open(store: StoreUrl, more: Omit<Partial<TimersOptions>, 'store'> = {}): Promise<Timers> {
    const timers = await openTimers({ store, engine: quick, ...more })
    all.push(timers)
    return timers
  }

  it('fires each timer once and not early, with two instances and one that only sets, moves and cancels', async () => {
    const url = newUrl()
    const [a, b, setter] = [await open(url), await open(url), await open(url)]
    const seen = new Seen()
    seen.listen(a, 'a')
    seen.listen(b, 'b')
    await Promise.all([a.start(), b.start()])
    const base = Date.now() + 1500
    const due = (i: number): number => base + (i % 100) * 10
    const rows = Array.from({ length: 400 }, (_, i) => ({
      key: `key-${i}`,
      at: due(i),
      payload: { dueAt: due(i) },
    }))
    await setter.setMany(ring, rows)
    for (const key of ['key-3', 'key-103']) expect(await setter.cancel(ring, key)).toBe('cancelled')
    const later = base + 2000
    expect(await a.move(ring, 'key-7', { at: later })).toBe('moved')
    await setter.set(ring, 'key-8', { at: later, payload: { dueAt: later } })
    expect(await b.cancel(ring, 'nobody')).toBe('unknown')
    await until('all but those cancelled', () => seen.by.size >= 398)
    await until('all settled', async () => (await setter.stats()).pending === 0)
    expect(seen.by.size).toBe(398)
    expect(seen.repeats).toEqual([])
    expect(seen.early).toEqual([])
    expect(new Set([...seen.by.values()].map(([first]) => first!.by))).toEqual(new Set(['a', 'b']))
    for (const key of ['key-7', 'key-8']) expect(seen.by.get(key)![0]!.at).toBeGreaterThanOrEqual(later)
    expect((await setter.stats()).store).toEqual({
      created: 401,
      settled: 398,
      cancelled: 2,
      replaced: 1,
      dead: 0,
    })
    const store = await openStore(url)
    expect(store.mode).toBe('claim')
    expect(await store.countRows()).toBe(0)
    await store.stop()
  })

  it('extends the lease of a long handler, and answers a cancel with firing meanwhile', async () => {
    const url = newUrl()
    const [a, b] = [await open(url), await open(url)]
    const seen: string[] = []
    for (const each of [a, b]) {
      each.handle(slow, async ({ key }) => {
        seen.push(key)
        await sleep(4000)
      })
      await each.start()
    }
    await a.set(slow, 'x', { in: 50 })
    await until('it fires', () => seen.length > 0)
    await sleep(2500)
    expect(await b.cancel(slow, 'x')).toBe('firing')
    await until('it is settled', async () => (await a.stats()).pending === 0)
    expect(seen).toEqual(['x'])
    expect(await b.cancel(slow, 'x')).toBe('unknown')
  })

  it('fires the timers of an instance that is cut off again when their leases end, with one attempt more', async () => {
    const url = newUrl()
    const proxy = await TcpProxy.to(port())
    proxies.push(proxy)
    const through = new URL(url)
    through.port = String(proxy.port)
    const [cutOff, other] = [await open(through.href as StoreUrl), await open(url, { history: 'all' })]
    const seen = new Seen()
    const attempts: number[] = []
    cutOff.handle(ring, async () => {
      await sleep(60_000, undefined, { ref: false })
    })
    other.handle(ring, (firing) => {
      attempts.push(firing.attempt)
      seen.note(firing, 'other')
    })
    await cutOff.start()
    const dueAt = Date.now() + 200
    const keys = Array.from({ length: 100 }, (_, i) => `key-${i}`)
    await other.setMany(
      ring,
      keys.map((key) => ({ key, at: dueAt, payload: { dueAt } })),
    )
    await until('all are held', () => cutOff.engine.stats().counts.fired === 100)
    await other.start()
    proxy.close()
    const cutAt = Date.now()
    await until('all fired', () => seen.by.size === 100)
    const tookMs = Date.now() - cutAt
    expect(tookMs).toBeLessThan(1500 + 1000 + 3000)
    await until('all settled', async () => (await other.stats()).pending === 0)
    expect(new Set(attempts)).toEqual(new Set([2]))
    expect(seen.repeats).toEqual([])
    const { events } = await other.why(ring, 'key-0')
    expect(events.map(({ event, attempt }) => [event, attempt])).toEqual([
      ['created', undefined],
      ['handed-over', undefined],
      ['unknown-attempt', 1],
      ['attempt', 2],
      ['settled', undefined],
    ])
    console.log(`${tookMs} ms after the cut all 100 had fired again, with a lease of 1500 ms`)
    all.splice(all.indexOf(cutOff), 1)
    await Promise.race([cutOff.stop(), sleep(1)])
  })

  it('fires each timer once and leaves no due timer when two instances drain at once', async () => {
    const url = newUrl()
    const [a, b] = [await open(url), await open(url)]
    const seen = new Seen()
    for (const [name, each] of [
      ['a', a],
      ['b', b],
    ] as const) {
      each.handle(ring, async (firing) => {
        seen.note(firing, name)
        await sleep(1)
      })
    }
    const dueAt = Date.now()
    const rows = Array.from({ length: 2000 }, (_, i) => ({ key: `key-${i}`, at: dueAt, payload: { dueAt } }))
    await a.setMany(ring, [...rows, { key: 'later', in: '1h', payload: { dueAt } }])
    const first = await a.drain({ maxTimers: 100 })
    expect(first).toEqual({ fired: 100, isCaughtUp: false })
    const drained = await Promise.all([a.drain(), b.drain()])
    expect(drained.map(({ isCaughtUp }) => isCaughtUp)).toEqual([true, true])
    expect(drained[0].fired + drained[1].fired).toBe(1900)
    expect(drained.every(({ fired }) => fired > 0)).toBe(true)
    expect(seen.by.size).toBe(2000)
    expect(seen.repeats).toEqual([])
    expect((await a.stats()).pending).toBe(1)
    expect(await b.drain()).toEqual({ fired: 0, isCaughtUp: true })
  })

  it('fires a timer again that a lost instance leased for an hour while the clock was ahead', async () => {
    const url = newUrl()
    const told: number[] = []
    const timers = await open(url, {
      onEvent: (event) => void (event.type === 'lease-ahead' && told.push(event.count)),
    })
    const attempts = new Map<string, number>()
    timers.handle(ring, ({ key, attempt }) => void attempts.set(key, attempt))
    const dueAt = Date.now()
    const keys = Array.from({ length: 100 }, (_, i) => `key-${i}`)
    await timers.setMany(
      ring,
      keys.map((key) => ({ key, at: dueAt, payload: { dueAt } })),
    )
    const store = await openStore(url)
    const held = await store.claimDue({ owner: 'gone', limit: 1000, leaseMs: 3_600_000 })
    expect(held).toHaveLength(100)
    await timers.start()
    await until('all fired', () => attempts.size === 100)
    await until('all settled', async () => (await timers.stats()).pending === 0)
    expect(new Set(attempts.values())).toEqual(new Set([2]))
    expect(told.reduce((sum, count) => sum + count, 0)).toBe(100)
    await store.stop()
  })

  it('refuses an engine with owners on a store for claims, and the other way round', async () => {
    const [claims, owned] = [newUrl(), newUrl()]
    await open(claims)
    await open(owned, { engine: {} })
    await expect(openTimers({ store: claims, engine: { strategy: 'preload' } })).rejects.toMatchObject({
      code: 'wrong-strategy',
    })
    await expect(openTimers({ store: owned, engine: { strategy: 'claim' } })).rejects.toMatchObject({
      code: 'wrong-strategy',
    })
    expect((await (await open(claims, { engine: {} })).stats()).strategy).toBe('claim')
  })
}

/** What the handlers received. */
class Seen {
  readonly by = new Map<string, { by: string; at: number }[]>()
  readonly early: string[] = []

  listen(timers: Timers, by: string): void {
    timers.handle(ring, (firing) => this.note(firing, by))
  }

  note({ key, dueAt }: { readonly key: string; readonly dueAt: number }, by: string): void {
    const at = Date.now()
    if (at < dueAt) this.early.push(key)
    this.by.set(key, [...(this.by.get(key) ?? []), { by, at }])
  }

  get repeats(): string[] {
    return [...this.by].filter(([, times]) => times.length > 1).map(([key]) => key)
  }
}
