import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openTimers, timer, type Timers } from '../../src/front/index.js'
import type { StoreUrl } from '../../src/store/index.js'
import { eventually, until } from '../eventually.js'
import { WorkerProcess } from './anywhere/worker-process.js'
import { startPostgres } from './postgres.js'
import { startRedis } from './redis.js'

const kind = timer<string>('kind')
const KEYS = Array.from({ length: 40 }, (_, index) => `key-${index}`)

const servers = {
  PostgreSQL: { start: startPostgres, storeOf: (url: string, name: string) => `${url}?schema=${name}` },
  Redis: { start: startRedis, storeOf: (url: string, name: string) => `${url}?prefix=${name}` },
}

// This process is the web process: it sets timers and never starts. Workers are processes of their own.
describe.each(Object.entries(servers))('a process that owns no shard, on %s', (name, { start, storeOf }) => {
  let server: { readonly url: string; stop(): Promise<void> }
  let store = ''
  let stores = 0
  const workers: WorkerProcess[] = []
  const opened: Timers[] = []

  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server.stop())
  afterEach(async () => {
    for (const worker of workers.splice(0)) worker.kill()
    await Promise.all(opened.splice(0).map((timers) => timers.stop()))
  })

  function newStore(): void {
    store = storeOf(server.url, `anywhere_${name.toLowerCase()}_${process.pid}_${++stores}`)
  }

  async function web(): Promise<Timers> {
    const timers = await openTimers({ store: store as StoreUrl, logger: false })
    opened.push(timers)
    return timers
  }

  async function openWorker(): Promise<WorkerProcess> {
    const started = await WorkerProcess.open(store)
    workers.push(started)
    return started
  }

  it('replaces a timer while no worker is started, and the old one does not fire afterwards', async () => {
    newStore()
    const one = await openWorker()
    await one.tell('start')
    await one.tell('set old 2000 old')
    await one.tell('stop')
    const timers = await web()
    expect(await timers.set(kind, 'old', { in: '14d', payload: 'new' })).toMatchObject({ outcome: 'set' })
    await timers.set(kind, 'mark', { in: '3s', payload: 'mark' })
    await one.tell('start')
    await until('the mark fires', () => one.fired.includes('fired mark mark'), 60_000)
    expect(one.fired).toEqual(['fired mark mark'])
    expect(await timers.get(kind, 'old')).toMatchObject({ payload: 'new' })
  })

  it('replaces timers of a running worker, and after the answer none of them fires', async () => {
    newStore()
    const one = await openWorker()
    await one.tell('start')
    const timers = await web()
    await timers.setMany(
      kind,
      KEYS.map((key) => ({ key, in: '1500ms', payload: 'old' })),
    )
    const fired = () => one.fired.filter((line) => line.endsWith(' old')).length
    // Replaces them at about the time when they are due.
    await new Promise((resolve) => setTimeout(resolve, 1400))
    for (const key of KEYS) await timers.set(kind, key, { in: '14d', payload: 'new' })
    const before = fired()
    await timers.set(kind, 'mark', { in: '1s', payload: 'mark' })
    await until('the mark fires', () => one.fired.includes('fired mark mark'), 60_000)
    // A line of the worker may come a little later than the answer to the set that followed it.
    expect(fired() - before).toBeLessThanOrEqual(1)
    const { items } = await timers.list({ kind, keyPrefix: 'key-' })
    expect(items.map(({ payload }) => payload)).toEqual(KEYS.map(() => 'new'))
  })

  it('sees what it set: by get, list, forecast, statistics and quota, with and without workers', async () => {
    newStore()
    const timers = await web()
    for (const workerCount of [0, 1, 2]) {
      if (workerCount > 0) await (await openWorker()).tell('start')
      const prefix = `workers-${workerCount}-`
      const { pending } = await timers.stats()
      for (const key of KEYS) {
        await timers.set(kind, prefix + key, { in: '10m', payload: 'x' })
        expect(await timers.get(kind, prefix + key)).toMatchObject({ key: prefix + key, payload: 'x' })
      }
      const { items } = await timers.list({ kind, keyPrefix: prefix })
      expect(items).toHaveLength(KEYS.length)
      expect((await timers.stats()).pending).toBe(pending + KEYS.length)
      const due = (await timers.forecast({ kind, over: '1h' })).reduce((sum, { count }) => sum + count, 0)
      expect(due).toBe(pending + KEYS.length)
      await timers.setQuota({ maxTimers: pending + KEYS.length })
      await expect(timers.set(kind, `${prefix}more`, { in: '10m', payload: 'x' })).rejects.toMatchObject({
        code: 'quota-exceeded',
      })
      await timers.setQuota(undefined)
    }
  })

  it('cancels by prefix what it has just set', async () => {
    newStore()
    const one = await openWorker()
    await one.tell('start')
    const timers = await web()
    for (let round = 0; round < 10; round++) {
      await timers.setMany(
        kind,
        KEYS.map((key) => ({ key: `${round}-${key}`, in: '2s', payload: 'x' })),
      )
      const cancelled = await timers.cancelMany({ kind, keyPrefix: `${round}-` })
      expect(cancelled).toEqual({ found: KEYS.length, cancelled: KEYS.length })
    }
    await timers.set(kind, 'mark', { in: '3s', payload: 'mark' })
    await until('the mark fires', () => one.fired.includes('fired mark mark'), 60_000)
    expect(one.fired).toEqual(['fired mark mark'])
  })

  it('moves, cancels, fires and sets with conditions while no worker was ever started', async () => {
    newStore()
    const timers = await web()
    const { handle } = await timers.set(kind, 'a', { in: '1h', payload: 'a' })
    expect(await timers.set(kind, 'a', { in: '1h', payload: 'b', ifAbsent: true })).toMatchObject({
      outcome: 'conflict',
    })
    expect(await timers.set(kind, 'b', { in: '1h', payload: 'b', ifAbsent: true })).toMatchObject({
      outcome: 'set',
    })
    expect(await timers.move(kind, 'a', { in: '2h' })).toBe('moved')
    expect(await timers.fireNow(kind, 'b')).toBe('moved')
    expect(await timers.cancel(handle)).toBe('cancelled')
    expect(await timers.cancel(kind, 'a')).toBe('unknown')
    const one = await openWorker()
    await one.tell('start')
    await eventually(() => expect(one.fired).toEqual(['fired b b']), 60_000)
  })
})
