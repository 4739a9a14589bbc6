import { afterEach, describe, expect, it } from 'vitest'
import type { TimerPool, TimerPoolOptions } from '../../src/parallel/index.js'
import { eventually } from '../eventually.js'
import { builtPool, fates, newLedger, tasks } from './built.js'

const { TimerPool: Pool, poolMetrics } = await builtPool()
const pools: TimerPool[] = []

async function start(options: Partial<TimerPoolOptions> = {}): Promise<TimerPool> {
  const pool = await Pool.start({ module: tasks, workers: 2, ...options })
  pools.push(pool)
  return pool
}

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.stop()))
})

describe('a pool', () => {
  it('fires a timer that the starting thread has set, once and not early', async () => {
    const data = newLedger(10)
    const pool = await start({ data })
    data.next[0] = 10
    for (let id = 0; id < 10; id++) pool.set('fire', id * 5, id)
    await eventually(() => expect(fates(data)).toEqual({ fired: 10 }))
  })

  it('says once that it cancelled a timer, and the task does not run', async () => {
    const data = newLedger(2)
    const pool = await start({ data })
    const handle = pool.set('fire', '1h', 0)
    expect(pool.state(handle)).toBe('scheduled')
    expect(pool.cancel(handle)).toBe(true)
    expect(pool.cancel(handle)).toBe(false)
    expect(pool.state(handle)).toBe('cancelled')
    const later = pool.set('fire', 1, 1)
    await eventually(() => expect(pool.state(later)).toBe('fired'))
    expect(pool.cancel(later)).toBe(false)
    expect([...data.ledger]).toEqual([0, 1])
  })

  it('passes strings to tasks, and awaits their promises', async () => {
    const data = newLedger(2)
    const pool = await start({ data, payloadBytes: 16 })
    pool.set('echo', 0, 'käse')
    const slow = pool.set('hold', 0, 1)
    await eventually(() => expect(pool.state(slow)).toBe('firing'))
    data.ledger[1] = 9
    await eventually(() => expect(pool.state(slow)).toBe('fired'))
    expect([...data.ledger]).toEqual([4, 9])
  })

  it('reports the error of a task with its name and payload, and goes on', async () => {
    const errors: unknown[] = []
    const data = newLedger(1)
    const pool = await start({ data, onError: (error, task, payload) => errors.push([error, task, payload]) })
    pool.set('fail', 0, 7)
    pool.set('fire', 1, 0)
    await eventually(() => expect(data.ledger[0]).toBe(1))
    await eventually(() => expect(errors).toMatchObject([[{ message: 'it failed on purpose' }, 'fail', 7]]))
  })

  it('lets a task set a timer for an instant of its clock, and refuses what is no instant', async () => {
    const errors: unknown[] = []
    const data = newLedger(1)
    const pool = await start({ data, onError: (error) => errors.push(error) })
    data.next[0] = 1
    pool.set('setAt', 0, 0)
    await eventually(() => expect(fates(data)).toEqual({ fired: 1 }))
    await eventually(() =>
      expect(errors).toMatchObject([{ message: expect.stringContaining('NaN') as string }]),
    )
  })

  it('keeps every timer when the number of workers changes', async () => {
    const data = newLedger(200)
    const pool = await start({ data, workers: 3 })
    data.next[0] = 200
    for (let id = 0; id < 200; id++) pool.set('fire', 50 + id, id)
    await pool.resize(1)
    expect(pool.stats().workers.map(({ worker }) => worker)).toEqual([1])
    await pool.resize(2)
    await eventually(() => expect(fates(data)).toEqual({ fired: 200 }))
    expect(pool.stats()).toMatchObject({ deaths: 0, interrupted: 0 })
  })

  it('writes its statistics as metrics, for each worker', async () => {
    const pool = await start({ workers: 2, data: newLedger(1) })
    const done = pool.set('fire', 0, 0)
    await eventually(() => expect(pool.state(done)).toBe('fired'))
    await eventually(() => expect(poolMetrics(pool.stats())).toMatch(/^carillon_pool_fired_total.* 1$/m))
    const lines = poolMetrics(pool.stats()).trimEnd().split('\n')
    expect(lines).toContain('carillon_pool_deaths_total 0')
    for (const name of ['scheduled', 'stale', 'cancelled_total', 'adopted_total'])
      for (const worker of [1, 2])
        expect(lines.some((line) => line.startsWith(`carillon_pool_${name}{worker="${worker}"} `))).toBe(true)
    for (const line of lines) expect(line).toMatch(/^# (HELP|TYPE) |^[a-z_]+(\{worker="\d+"\})? [\d.e-]+$/)
  })

  it('says how many timers were dropped when it stopped, and refuses to be used afterwards', async () => {
    const pool = await start()
    for (let id = 0; id < 5; id++) pool.set('fire', '1h', id)
    await eventually(() =>
      expect(pool.stats().workers.reduce((sum, { adopted }) => sum + adopted, 0)).toBe(5),
    )
    expect(await pool.stop()).toBe(5)
    expect(() => pool.set('fire', 1)).toThrow(expect.objectContaining({ code: 'stopped' }))
  })

  it('frees the records of timers that another thread has cancelled, also if they are due in a year', async () => {
    const pool = await start({ maxTimers: 32_768, workers: 1 })
    for (let round = 1; round <= 4; round++) {
      const handles = Array.from({ length: 20_000 }, () => pool.set('fire', '365d'))
      await eventually(() => expect(pool.stats().workers[0]!.adopted).toBe(20_000 * round))
      expect(handles.every((handle) => pool.cancel(handle))).toBe(true)
      await eventually(() => expect(pool.stats().workers[0]!.scheduled).toBeLessThan(6000))
    }
  })
})

describe('bad input to a pool gets a typed error:', () => {
  it.each([
    [{ workers: 0 }, 'invalid-option'],
    [{ workers: 1025 }, 'invalid-option'],
    [{ workers: 1.5 }, 'invalid-option'],
    [{ maxTimers: 2 ** 24 + 1 }, 'invalid-option'],
    [{ payloadBytes: 5000 }, 'invalid-option'],
    [{ module: 7 as unknown as string }, 'invalid-option'],
    [{ threads: 2 }, 'unknown-option'],
    [{ module: './there-is-no-such-module.mjs' }, 'task-module'],
    [{ module: 'data:text/javascript,throw new Error("at load")' }, 'task-module'],
  ])('%j is refused with %s', async (options, code) => {
    await expect(Pool.start({ module: tasks, workers: 1, ...options })).rejects.toMatchObject({ code })
  })

  it('a handle of another pool, and what is no handle', async () => {
    const [one, other] = [await start({ workers: 1 }), await start({ workers: 1 })]
    const handle = one.set('fire', '1h')
    expect(() => other.cancel(handle)).toThrow(expect.objectContaining({ code: 'invalid-handle' }))
    expect(() => one.cancel('x' as unknown as number)).toThrow(
      expect.objectContaining({ code: 'invalid-handle' }),
    )
    expect(() => one.state(-1)).toThrow(expect.objectContaining({ code: 'invalid-handle' }))
    expect(one.cancel(handle)).toBe(true)
  })

  it('an unknown task, a payload that cannot cross and one that is too long', async () => {
    const pool = await start({ workers: 1, payloadBytes: 8 })
    expect(() => pool.set('nothing', 1)).toThrow(/its functions: .*fire/)
    expect(() => pool.set('fire', 1, {} as unknown as number)).toThrow(
      expect.objectContaining({ code: 'invalid-payload' }),
    )
    expect(() => pool.set('fire', 1, 'nine bytes')).toThrow(
      expect.objectContaining({ code: 'payload-too-large' }),
    )
    expect(pool.stats().scheduled).toBe(0)
  })

  it('one timer more than the pool has room for', async () => {
    const pool = await start({ workers: 1, maxTimers: 300 })
    for (let i = 0; i < 300; i++) pool.set('fire', '1h')
    expect(() => pool.set('fire', '1h')).toThrow(expect.objectContaining({ code: 'pool-full' }))
  })
})
