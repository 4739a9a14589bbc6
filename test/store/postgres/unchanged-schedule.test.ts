import { afterEach, describe, expect, it } from 'vitest'
import { cron, every, openTimers, timer, type Timers } from '../../../src/index.js'
import { eventually } from '../../eventually.js'
import { newSchema, openStoreIn, usePostgres } from './scratch.js'

usePostgres()

const quick = { leaseMs: 1500, leaseMarginMs: 300, acquireMs: 100, heartbeatMs: 300, settleMs: 100 }
const report = timer<string>('report')
const all: Timers[] = []

afterEach(async () => {
  for (const timers of all.splice(0)) await timers.stop()
})

/** Opens an instance with connections of its own, as another process has them. It is not started. */
async function opened(schema: string, fired: number[] = []): Promise<Timers> {
  const timers = await openTimers({ store: await openStoreIn({ schema }), engine: quick })
  all.push(timers)
  timers.handle(report, ({ dueAt }) => {
    fired.push(dueAt)
  })
  return timers
}

describe('a schedule that is set again unchanged, on PostgreSQL', () => {
  it('keeps the occurrence that a deploy missed, if another process sets it before start', async () => {
    const schema = newSchema()
    const fired: number[] = []
    const old = await opened(schema)
    await old.start()
    // One occurrence an hour: the next one is made due by moving it into the time of the deploy.
    const hourly = { on: every('1h'), payload: 'all' }
    const set = await old.set(report, 'hourly', hourly)
    await eventually(async () => expect(await old.get(report, 'hourly')).toBeDefined())
    const missedAt = Date.now() + 1000
    expect(await old.move(report, 'hourly', { at: missedAt })).toBe('moved')
    await old.stop()
    await new Promise((resolve) => setTimeout(resolve, missedAt + 100 - Date.now()))
    // A web process sets its schedules and never starts. Then the worker does the same, and starts.
    const web = await opened(schema)
    const worker = await opened(schema, fired)
    for (const timers of [web, worker]) {
      const again = await timers.set(report, 'hourly', hourly)
      expect(again).toMatchObject({ outcome: 'unchanged', handle: set.handle, dueAt: missedAt })
    }
    await worker.start()
    await eventually(() => expect(fired).toEqual([missedAt]), 30_000)
  })

  it('is compared by any process, alone and in a batch, and a change is taken', async () => {
    const schema = newSchema()
    const owner = await opened(schema)
    await owner.start()
    const other = await opened(schema)
    const rows = (expression: string) =>
      Array.from({ length: 40 }, (_, index) => ({ key: `k${index}`, on: cron(expression), payload: 'all' }))
    const first = await other.setMany(report, rows('0 9 * * *'))
    await eventually(async () => expect((await owner.list({ limit: 100 })).items).toHaveLength(40))
    const same = await other.setMany(report, rows('0 9 * * *'))
    expect(same.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 40 }, () => 'unchanged'))
    expect(same.map(({ handle }) => handle)).toEqual(first.map(({ handle }) => handle))
    const changed = await other.setMany(report, [
      ...rows('0 9 * * *').slice(0, 39),
      ...rows('0 10 * * *').slice(39),
    ])
    expect(changed.map(({ outcome }) => outcome)).toEqual(
      Array.from({ length: 40 }, (_, index) => (index === 39 ? 'set' : 'unchanged')),
    )
    await eventually(async () => {
      expect((await owner.get(report, 'k39'))!.on).toMatchObject({ expression: '0 10 * * *' })
    })
    expect((await owner.set(report, 'k39', { on: cron('0 10 * * *'), payload: 'all' })).outcome).toBe(
      'unchanged',
    )
    expect((await owner.set(report, 'k39', { on: cron('0 10 * * *'), payload: 'some' })).outcome).toBe('set')
  })
})
