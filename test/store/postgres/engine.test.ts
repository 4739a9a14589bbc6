import { afterEach, describe, expect, it } from 'vitest'
import { openTimers, type StoreUrl, timer, type Timers } from '../../../src/index.js'
import { eventually } from '../../eventually.js'
import { isAcked, isEarly, isFired, keyOf, startChild, useChildren } from './chaos-children.js'
import { isForeign, newSchema, sql, thisServer, usePostgres } from './scratch.js'

usePostgres()
useChildren()

const quick = { leaseMs: 1500, leaseMarginMs: 300, acquireMs: 100, heartbeatMs: 300, settleMs: 100 }
const remind = timer('remind', { retry: { attempts: 5, backoff: '10ms..50ms' } })
const all: Timers[] = []

afterEach(async () => {
  for (const timers of all.splice(0)) await timers.stop()
})

describe('two instances on one PostgreSQL', () => {
  it('share its shards, and each can set, move and cancel timers of either', async () => {
    const store = urlOf(newSchema())
    const fired: { by: string; key: string; lateMs: number }[] = []
    const [first, second] = await Promise.all([
      instance(store, (key, lateMs) => fired.push({ by: 'first', key, lateMs })),
      instance(store, (key, lateMs) => fired.push({ by: 'second', key, lateMs })),
    ])
    await eventually(async () => {
      const owners = await sql(`select distinct owner from "${schemaOf(store)}".shard`)
      expect(owners.map((row) => row['owner'])).toHaveLength(2)
      expect(owners.some((row) => row['owner'] === '')).toBe(false)
    })
    const keys = Array.from({ length: 60 }, (_, i) => `key-${i}`)
    await first.setMany(
      remind,
      keys.map((key) => ({ key, in: 2500 })),
    )
    // Either instance may own the shard. Each sees the timers that were acknowledged to the other.
    for (const key of keys.slice(0, 10)) expect(await second.move(remind, key, { in: 300 })).toBe('moved')
    for (const key of keys.slice(10, 20)) expect(await second.cancel(remind, key)).toBe('cancelled')
    for (const key of keys.slice(20, 25)) expect(await first.cancel(remind, key)).toBe('cancelled')
    expect(await second.cancel(remind, 'nobody')).toBe('unknown')
    const expected = [...keys.slice(0, 10), ...keys.slice(25)].toSorted()
    await eventually(async () => expect(fired.map(({ key }) => key).toSorted()).toEqual(expected))
    expect(new Set(fired.map(({ by }) => by))).toEqual(new Set(['first', 'second']))
    expect(fired.filter(({ lateMs }) => lateMs < 0)).toEqual([])
    await eventually(async () => {
      const [row] = await sql(
        `select sum(created)::int as created, sum(settled)::int as settled, sum(cancelled)::int as cancelled
        from "${schemaOf(store)}".shard`,
      )
      expect(row).toEqual({ created: 60, settled: 45, cancelled: 15 })
    })
    expect(fired).toHaveLength(45)
  })

  it.skipIf(isForeign)('fire every timer though the server restarts', async () => {
    const store = urlOf(newSchema())
    const fired: string[] = []
    const [first] = await Promise.all([instance(store, note), instance(store, note)])
    const keys = Array.from({ length: 40 }, (_, i) => `key-${i}`)
    await first.setMany(
      remind,
      keys.map((key, i) => ({ key, in: 500 + i * 50 })),
    )
    await thisServer().restart()
    await eventually(async () => expect([...new Set(fired)].toSorted()).toEqual(keys.toSorted()), 30_000)
    // Each try sets another key: replacing the same timer before it is due would delay it for ever.
    let tries = 0
    await eventually(async () => {
      await first.set(remind, `after-${++tries}`, { in: 50 })
      expect(fired.some((key) => key.startsWith('after'))).toBe(true)
    }, 20_000)

    function note(key: string): void {
      fired.push(key)
    }
  })

  it('fire every acknowledged timer soon after the lease, if one of them is killed', async () => {
    const store = urlOf(newSchema())
    const lines: string[] = []
    const dying = startChild(store, 'dying', 400, lines)
    await eventually(async () => expect(lines).toContain('ready dying'))
    startChild(store, 'living', 0, lines)
    await eventually(async () => expect(lines).toContain('ready living'))
    await eventually(async () => expect(lines.filter(isAcked).length).toBeGreaterThan(150))
    dying.kill('SIGKILL')
    const killedAt = Date.now()
    const acked = lines.filter(isAcked).map(keyOf)
    await eventually(async () => {
      const fired = new Set(lines.filter(isFired).map(keyOf))
      expect(acked.filter((key) => !fired.has(key))).toEqual([])
    }, 20_000)
    // Every timer is due within 4.3 s of its set. The lease and the next check of the shards come on top.
    expect(Date.now() - killedAt).toBeLessThan(4300 + 1500 + 3000)
    expect(lines.filter(isEarly)).toEqual([])
  })
})

describe('an instance on PostgreSQL that is stopped for longer than its lease', () => {
  it('loses its shards, is fenced when it wakes, and joins again', async () => {
    const store = urlOf(newSchema())
    const lines: string[] = []
    const sleeper = startChild(store, 'sleeper', 300, lines)
    await eventually(() => expect(lines).toContain('ready sleeper'))
    startChild(store, 'other', 0, lines)
    await eventually(() => expect(lines.filter(isAcked).length).toBeGreaterThan(150))
    sleeper.kill('SIGSTOP')
    const acked = lines.filter(isAcked).map(keyOf)
    await eventually(() => {
      const fired = new Set(lines.filter(isFired).map(keyOf))
      expect(acked.filter((key) => !fired.has(key))).toEqual([])
    }, 20_000)
    await eventually(async () => {
      const owners = await sql(`select distinct owner from "${schemaOf(store)}".shard`)
      expect(owners).toHaveLength(1)
    })
    sleeper.kill('SIGCONT')
    // It goes on setting timers and gets shards again, and in the end no timer is left.
    await eventually(() => expect(lines).toContain('set sleeper'), 20_000)
    await eventually(async () => {
      const owners = await sql(`select distinct owner from "${schemaOf(store)}".shard`)
      expect(owners).toHaveLength(2)
      const [row] = await sql(
        `select sum(created - replaced)::int as set, sum(settled)::int as settled from "${schemaOf(store)}".shard`,
      )
      // A timer whose set had an unknown outcome is set again, and may have fired before that.
      expect(row!['settled']).toBe(row!['set'])
      expect(row!['settled']).toBeGreaterThanOrEqual(300)
    }, 20_000)
    expect(sleeper.exitCode).toBeNull()
    expect(lines.filter(isEarly)).toEqual([])
  })
})

function urlOf(schema: string): StoreUrl {
  return `${thisServer().url}?schema=${schema}`
}

function schemaOf(url: string): string {
  return new URL(url).searchParams.get('schema')!
}

async function instance(store: StoreUrl, fired: (key: string, lateMs: number) => void): Promise<Timers> {
  const timers = await openTimers({ store, engine: quick })
  all.push(timers)
  timers.handle(remind, (firing) => fired(firing.key, Date.now() - firing.dueAt))
  await timers.start()
  return timers
}
