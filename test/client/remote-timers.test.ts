import { describe, expect, it } from 'vitest'
import { Dead, log, RetryAfter } from '../../src/delivery/index.js'
import type { CarillonError } from '../../src/error/index.js'
import { openTimers, type RemoteTimers, timer, type Timers, type TimersEvent } from '../../src/front/index.js'
import { daily, every } from '../../src/schedule/index.js'
import { until } from '../eventually.js'
import { TestServer } from '../server/test-server.js'

const remind = timer<{ n: number }>('remind', { retry: { attempts: 3, backoff: '1ms..5ms' } })

async function opened(
  served: TestServer,
  options: Partial<Parameters<typeof openTimers>[0]> = {},
): Promise<RemoteTimers> {
  return await openTimers({ apiKey: served.token, ...options, store: served.url as `http://${string}` })
}

async function codeOf(call: () => unknown): Promise<string> {
  try {
    await call()
  } catch (error) {
    return (error as CarillonError).code
  }
  return 'none'
}

describe('timers on a server', () => {
  it('end from a handler, and by a cancel while they fire', async () => {
    await using served = await TestServer.start()
    await using timers = await opened(served)
    const seen: string[] = []
    let finish = (): void => undefined
    timers.handle(remind, (firing) => {
      seen.push(firing.key)
      if (firing.key === 'ended') firing.end()
      return new Promise<void>((resolve) => {
        finish = resolve
        if (firing.key === 'ended') resolve()
      })
    })
    await timers.start()
    const often = { on: every('50ms'), payload: { n: 1 } }
    await timers.set(remind, 'ended', often)
    await until('the timer has ended', async () => (await timers.get(remind, 'ended'))?.state === 'settled')
    await timers.set(remind, 'cancelled', often)
    await until('the timer fires', () => seen.includes('cancelled'))
    expect(await timers.cancel(remind, 'cancelled')).toBe('ending')
    expect(await timers.cancelMany({ kind: remind, keys: ['cancelled'] })).toEqual({ found: 1, ending: 1 })
    finish()
    await until('the timer is gone', async () => (await timers.get(remind, 'cancelled'))?.state === 'settled')
    expect(seen).toEqual(['ended', 'cancelled'])
  })

  it('are set, read, moved, listed and cancelled by the same calls as on a store', async () => {
    await using served = await TestServer.start()
    await using timers = await opened(served)
    expect(await timers.get(remind, 'a')).toBeUndefined()
    expect(await timers.cancel(remind, 'a')).toBe('unknown')
    expect((await timers.list({ kind: remind })).items).toEqual([])
    const set = await timers.set(remind, 'a', { in: '1h', payload: { n: 1 } })
    expect(Object.keys(set).toSorted()).toEqual(['dueAt', 'handle', 'key', 'outcome', 'revision'])
    expect((await timers.get(remind, 'a'))!.payload.n).toBe(1)
    expect(await timers.move(set.handle, { in: '2h' })).toBe('moved')
    expect(await timers.move(remind, 'a', { in: '2h' }, { ifRevision: set.revision! })).toBe('conflict')
    expect(await timers.set(remind, 'a', { in: 1, payload: { n: 2 }, ifAbsent: true })).toMatchObject({
      outcome: 'conflict',
      handle: set.handle,
    })
    const rows = Array.from({ length: 1500 }, (_, n) => ({ key: `k${n}`, in: '1h', payload: { n } }))
    expect(await timers.setMany(remind, rows)).toHaveLength(1500)
    const { items, cursor } = await timers.list({ kind: remind, limit: 1200 })
    expect([items.length, typeof cursor]).toEqual([1200, 'string'])
    expect((await timers.list({ limit: 10_000 })).items).toHaveLength(1501)
    expect(await timers.moveMany({ kind: remind, keys: ['k0', 'no'] }, { in: '3h' })).toEqual({
      found: 2,
      moved: 1,
      unknown: 1,
    })
    expect(await timers.cancelMany({ kind: remind, keyPrefix: 'k14' }, { dryRun: true })).toEqual({
      found: 111,
    })
    expect(await timers.cancelMany({ kind: remind, keyPrefix: 'k14' })).toEqual({
      found: 111,
      cancelled: 111,
    })
    expect(await timers.cancel(remind, 'a')).toBe('cancelled')
    expect(await timers.pause(remind)).toBe('paused')
    expect(await timers.paused()).toMatchObject({ all: false, kinds: ['remind'] })
    expect(await timers.resume(remind)).toBe('resumed')
    const [slice] = await timers.forecast({ over: '4h', slice: '4h' })
    expect(slice!.count).toBe(1389)
  })

  it('answer unchanged to a schedule that is set again', async () => {
    await using served = await TestServer.start()
    await using timers = await opened(served)
    const nine = { on: daily({ at: '09:00' }), payload: { n: 1 } }
    const set = await timers.set(remind, 'a', nine)
    expect(await timers.set(remind, 'a', nine)).toEqual({ ...set, outcome: 'unchanged' })
    const many = await timers.setMany(remind, [{ key: 'a', ...nine }])
    expect(many.at(0)).toEqual({ ...set, outcome: 'unchanged' })
  })

  it('refuse the same rows as the library, before any row is set', async () => {
    await using served = await TestServer.start()
    await using timers = await opened(served)
    const rows = [
      { key: 'a', in: '1h', payload: { n: 1 } },
      { key: 'b', in: 'soon', payload: { n: 2 } },
    ]
    expect(await codeOf(() => timers.setMany(remind, rows))).toBe('invalid-duration')
    expect((await timers.list()).items).toEqual([])
    expect(await codeOf(() => timers.get('never-seen', 'a'))).toBe('unknown-kind')
    expect(await codeOf(() => timers.set('remind' as never, 'a', { in: 1 }))).toBe('unknown-kind')
    const unchecked = timers as unknown as Timers
    expect(await codeOf(() => unchecked.using({} as never))).toBe('not-over-http')
    expect(await codeOf(() => unchecked.stats())).toBe('not-over-http')
    expect(await codeOf(() => unchecked.deliver(remind, log()))).toBe('not-over-http')
    expect(await codeOf(() => unchecked.handleOthers(() => undefined))).toBe('not-over-http')
    expect(await codeOf(() => unchecked.engine)).toBe('not-over-http')
    expect(await codeOf(() => unchecked.knownQuota)).toBe('not-over-http')
    expect(await codeOf(() => opened(served, { engine: {} }))).toBe('invalid-option')
    expect(await codeOf(() => openTimers({ store: 'memory:', apiKey: 'ck_a' }))).toBe('invalid-option')
    expect(await codeOf(() => opened(served, { apiKey: 'ck_wrong' }))).toBe('unauthorized')
  })

  it('run their handlers in this process: done, again, retried by the kind’s policy, dead', async () => {
    await using served = await TestServer.start()
    const events: TimersEvent[] = []
    await using timers = await opened(served, { onEvent: (event) => events.push(event) })
    const seen: string[] = []
    timers.handle(remind, async (firing) => {
      seen.push(`${firing.key} ${firing.attempt} ${firing.occurrence} ${firing.payload.n}`)
      if (firing.key === 'again' && firing.occurrence === 0) firing.again({ in: 1 })
      if (firing.key === 'later' && firing.attempt === 1) throw new RetryAfter('30ms')
      if (firing.key === 'never') throw new Error('not today')
      if (firing.key === 'dead') throw new Dead('no such order')
    })
    await timers.start()
    expect(await timers.getTarget(remind)).toMatchObject({
      type: 'lease',
      retry: { attempts: 3, backoff: '1ms..5ms' },
    })
    for (const key of ['done', 'again', 'later', 'never', 'dead'])
      await timers.set(remind, key, { in: 5, payload: { n: 7 } })
    await until('all are over', async () => (await timers.list()).items.length === 0)
    await until('both are given up', async () => (await timers.dead()).items.length === 2)
    expect(seen.toSorted()).toEqual([
      'again 1 0 7',
      'again 1 1 7',
      'dead 1 0 7',
      'done 1 0 7',
      'later 1 0 7',
      'later 2 0 7',
      'never 1 0 7',
      'never 2 0 7',
      'never 3 0 7',
    ])
    const { items } = await timers.dead()
    expect(items.map(({ key, reason }) => `${key}: ${reason}`).toSorted()).toEqual([
      'dead: no such order',
      'never: attempt 3 of 3 failed: not today',
    ])
    expect(events.filter(({ type }) => type === 'failed')).toHaveLength(5)
    expect((await timers.redrive([items.find(({ key }) => key === 'dead')!.id])).count).toBe(1)
    expect(await codeOf(() => timers.handle(remind, () => undefined))).toBe('handler-exists')
  })

  it('give a redriven dead letter the firing id of its occurrence, also under another key', async () => {
    await using served = await TestServer.start()
    await using timers = await opened(served)
    const seen: { readonly key: string; readonly id: string }[] = []
    let isMended = false
    timers.handle(remind, ({ key, id }) => {
      seen.push({ key, id })
      if (!isMended) throw new Dead('not yet')
    })
    await timers.start()
    await timers.set(remind, 'a', { in: 1, payload: { n: 1 } })
    await until('it is given up', async () => (await timers.dead()).items.length === 1)
    await timers.set(remind, 'a', { in: '1h', payload: { n: 2 } })
    isMended = true
    expect((await timers.redrive({ kind: remind })).beside).toHaveLength(1)
    await until('it fired again', () => seen.length === 2)
    expect(seen[1]!.key).toMatch(/^a~/)
    expect(seen[1]!.id).toBe(seen[0]!.id)
  })

  it('repeat on their schedule, and a firing has the same id as on the server', async () => {
    await using served = await TestServer.start()
    await using timers = await opened(served)
    const ids: string[] = []
    timers.handle(remind, ({ id, handle }) => void ids.push(id, handle))
    await timers.start()
    const { handle } = await timers.set(remind, 'a', { on: daily({ at: '09:00' }), payload: { n: 1 } })
    expect(await timers.fireNow(remind, 'a')).toBe('moved')
    await until('it fired', () => ids.length === 2)
    expect(ids).toEqual([expect.stringMatching(/^remind\/a\/[0-9a-z]+-0$/), handle])
    await until('it goes on', async () => (await timers.get(remind, 'a'))?.occurrence === 1)
  })

  it('never exceed the concurrency of their kind', async () => {
    await using served = await TestServer.start()
    await using timers = await opened(served)
    const narrow = timer('narrow', { concurrency: 3 })
    let most = 0
    let now = 0
    let done = 0
    timers.handle(narrow, async () => {
      most = Math.max(most, ++now)
      await new Promise((resolve) => setTimeout(resolve, 10))
      now--
      done++
    })
    await timers.start()
    await timers.setMany(
      narrow,
      Array.from({ length: 40 }, () => ({ in: 0 })),
    )
    await until('all are done', () => done === 40)
    expect(most).toBe(3)
  })

  it('are passed to handleMany in batches', async () => {
    await using served = await TestServer.start()
    await using timers = await opened(served)
    const digest = timer<number>('digest')
    const batches: number[] = []
    timers.handleMany(digest, (firings) => void batches.push(firings.length))
    await timers.setMany(
      digest,
      Array.from({ length: 600 }, (_, n) => ({ in: 0, payload: n })),
    )
    await timers.start()
    await until('all are done', () => batches.reduce((sum, length) => sum + length, 0) === 600)
    expect(batches.length).toBeLessThan(100)
    await until('all are settled', async () => (await timers.list()).items.length === 0)
  })

  it('abort their handlers on stop, and settle the outcomes', async () => {
    await using served = await TestServer.start()
    const timers = await opened(served)
    const keys: string[] = []
    timers.handle(remind, async ({ key }) => {
      keys.push(key)
      await new Promise((resolve) => setTimeout(resolve, 150))
    })
    await timers.start()
    await timers.set(remind, 'a', { in: 0, payload: { n: 1 } })
    await until('it has begun', () => keys.length === 1)
    await timers.stop()
    await using others = await opened(served)
    expect((await others.list()).items).toEqual([])
    expect(await codeOf(() => timers.set(remind, 'b', { in: 1, payload: { n: 1 } }))).toBe('stopped')
  })

  it('are drained in one pass', async () => {
    await using served = await TestServer.start()
    await using timers = await opened(served)
    const keys: string[] = []
    timers.handle(remind, ({ key }) => void keys.push(key))
    await timers.setMany(remind, [
      { key: 'a', in: 0, payload: { n: 1 } },
      { key: 'b', in: 0, payload: { n: 2 } },
      { key: 'c', in: '1h', payload: { n: 3 } },
    ])
    const first = await timers.drain({ maxTimers: 1 })
    expect([first, keys.length]).toEqual([{ fired: 1, isCaughtUp: false }, 1])
    expect(await timers.drain()).toEqual({ fired: 1, isCaughtUp: true })
    expect(keys.toSorted()).toEqual(['a', 'b'])
  })

  it('start and stop together with those of other namespaces', async () => {
    await using served = await TestServer.start()
    await using timers = await opened(served)
    const north = await timers.within('north')
    const fired: string[] = []
    north.handle(remind, ({ key, namespace }) => void fired.push(`${namespace} ${key}`))
    await timers.start()
    await north.set(remind, 'a', { in: 0, payload: { n: 1 } })
    await until('it fired', () => fired.length === 1)
    expect(fired).toEqual(['north a'])
    expect((await timers.kinds()).includes('remind')).toBe(false)
  })

  it('refuse to handle a kind that has another target', async () => {
    await using served = await TestServer.start()
    await using timers = await opened(served)
    await timers.setTarget(remind, { type: 'log' })
    timers.handle(remind, () => undefined)
    expect(await codeOf(() => timers.start())).toBe('handler-exists')
  })
})
