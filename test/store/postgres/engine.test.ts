import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { openTimers, timer, type Timers } from '../../../src/index.js'
import { eventually } from '../../eventually.js'
import { isForeign, newSchema, sql, thisServer, usePostgres } from './scratch.js'

usePostgres()

const child = fileURLToPath(
  new URL('../../../.carillon/run/test/store/postgres/chaos/child.js', import.meta.url),
)
const quick = { leaseMs: 1500, leaseMarginMs: 300, acquireMs: 100, heartbeatMs: 300, settleMs: 100 }
const remind = timer('remind', { retry: { attempts: 5, backoff: '10ms..50ms' } })
const all: Timers[] = []
const children: ChildProcess[] = []

afterEach(async () => {
  for (const timers of all.splice(0)) await timers.stop()
  for (const process of children.splice(0)) process.kill('SIGKILL')
})

describe('two instances on one PostgreSQL', () => {
  it('share its shards, and set, move, cancel and fire whoever owns them', async () => {
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
    // By the one who owns its shard, or by asking the other; what was acknowledged to one is there for the other.
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

  it.skipIf(isForeign)('go on when the server is restarted under them', async () => {
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
    // One that is set anew before it is due would never be.
    let tries = 0
    await eventually(async () => {
      await first.set(remind, `after-${++tries}`, { in: 50 })
      expect(fired.some((key) => key.startsWith('after'))).toBe(true)
    }, 20_000)

    function note(key: string): void {
      fired.push(key)
    }
  })

  it('one is killed: the other fires all that was acknowledged, soon after the lease is over', async () => {
    const store = urlOf(newSchema())
    const lines: string[] = []
    const dying = born(store, 'dying', 400, lines)
    await eventually(async () => expect(lines).toContain('ready dying'))
    born(store, 'living', 0, lines)
    await eventually(async () => expect(lines).toContain('ready living'))
    await eventually(async () => expect(lines.filter(isAcked).length).toBeGreaterThan(150))
    dying.kill('SIGKILL')
    const killedAt = Date.now()
    const acked = lines.filter(isAcked).map((line) => line.split(' ')[1]!)
    await eventually(async () => {
      const fired = new Set(lines.filter(isFired).map((line) => line.split(' ')[1]!))
      expect(acked.filter((key) => !fired.has(key))).toEqual([])
    }, 20_000)
    // Nothing is due later than 4.3 s after it was set; then come the lease and a look at the shards.
    expect(Date.now() - killedAt).toBeLessThan(4300 + 1500 + 3000)
    expect(lines.filter((line) => isFired(line) && Number(line.split(' ')[2]) < 0)).toEqual([])
  })
})

describe('an instance that is stopped for longer than its lease', () => {
  it('is replaced, is refused when it wakes, and begins anew', async () => {
    const store = urlOf(newSchema())
    const lines: string[] = []
    const sleeper = born(store, 'sleeper', 300, lines)
    await eventually(() => expect(lines).toContain('ready sleeper'))
    born(store, 'other', 0, lines)
    await eventually(() => expect(lines.filter(isAcked).length).toBeGreaterThan(150))
    sleeper.kill('SIGSTOP')
    const acked = lines.filter(isAcked).map((line) => line.split(' ')[1]!)
    await eventually(() => {
      const fired = new Set(lines.filter(isFired).map((line) => line.split(' ')[1]!))
      expect(acked.filter((key) => !fired.has(key))).toEqual([])
    }, 20_000)
    await eventually(async () => {
      const owners = await sql(`select distinct owner from "${schemaOf(store)}".shard`)
      expect(owners).toHaveLength(1)
    })
    sleeper.kill('SIGCONT')
    // It goes on setting timers, its own shards come back to it, and in the end nothing is left.
    await eventually(() => expect(lines).toContain('set sleeper'), 20_000)
    await eventually(async () => {
      const owners = await sql(`select distinct owner from "${schemaOf(store)}".shard`)
      expect(owners).toHaveLength(2)
      const [row] = await sql(
        `select sum(created - replaced)::int as set, sum(settled)::int as settled from "${schemaOf(store)}".shard`,
      )
      // A timer whose set had an unknown outcome is set once more, and may have fired before.
      expect(row!['settled']).toBe(row!['set'])
      expect(row!['settled']).toBeGreaterThanOrEqual(300)
    }, 20_000)
    expect(sleeper.exitCode).toBeNull()
    expect(lines.filter((line) => isFired(line) && Number(line.split(' ')[2]) < 0)).toEqual([])
  })
})

function isAcked(line: string): boolean {
  return line.startsWith('acked ')
}

function isFired(line: string): boolean {
  return line.startsWith('fired ')
}

function urlOf(schema: string): string {
  return `${thisServer().url}?schema=${schema}`
}

function schemaOf(url: string): string {
  return new URL(url).searchParams.get('schema')!
}

async function instance(store: string, fired: (key: string, lateMs: number) => void): Promise<Timers> {
  const timers = await openTimers({ store, engine: quick })
  all.push(timers)
  timers.handle(remind, (firing) => fired(firing.key, Date.now() - firing.dueAt))
  await timers.start()
  return timers
}

function born(store: string, name: string, count: number, lines: string[]): ChildProcess {
  const started = spawn(process.execPath, [child, store, name, String(count)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(started)
  createInterface({ input: started.stdout }).on('line', (line) => lines.push(line))
  return started
}
