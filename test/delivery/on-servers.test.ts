import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { lease, openTimers, timer, type Timers, type TimersOptions } from '../../src/index.js'
import { PostgresStore, RedisStore } from '../../src/store/index.js'
import { until } from '../eventually.js'
import { startPostgres } from '../servers/postgres.js'
import { startRedis } from '../servers/redis.js'
import { Receiver } from './receiver.js'

const quick = { heartbeatMs: 300, acquireMs: 100, inboxPollMs: 100, settleMs: 100, retryMs: 50, pollMs: 200 }
const work = timer<{ n: number }>('work', { retry: { attempts: 5, backoff: '20ms' } })
const remind = timer<{ n: number }>('remind', { retry: { attempts: 5, backoff: '20ms' } })
const idle = timer<{ n: number }>('idle')
const secret = `whsec_${randomBytes(32).toString('base64')}`

const servers = [
  { name: 'PostgreSQL', start: () => startPostgres(), own: 'schema', stores: PostgresStore },
  { name: 'Redis', start: () => startRedis(), own: 'prefix', stores: RedisStore },
] as const

describe.each(servers)('on $name', ({ start, own, stores }) => {
  let server: { readonly url: `postgres://${string}` | `redis://${string}`; stop(): Promise<void> }
  let made = 0
  const stops: (() => Promise<void> | void)[] = []

  beforeAll(async () => {
    server = await start()
  })
  afterEach(async () => {
    for (const stop of stops.splice(0).toReversed()) await stop()
  })
  afterAll(() => server.stop())

  /** Instances on a store of their own, started. */
  async function instances(
    count: number,
    strategy: 'preload' | 'lookahead' | 'claim',
    options: Omit<Partial<TimersOptions>, 'store'> = {},
    prepare: (timers: Timers) => void = () => undefined,
  ) {
    const store = `${server.url}?${own}=delivery_${process.pid}_${Date.now().toString(36)}_${made++}` as const
    // Few shards: so much of a kind in one of them does not fit into memory.
    const first = await stores.open(store, {
      strategy: strategy === 'claim' ? 'claim' : 'owned',
      shardCount: 2,
    })
    await first.stop()
    const more = async (): Promise<Timers> => {
      const timers = await openTimers({ store, engine: { ...quick, strategy }, ...options })
      stops.push(() => timers.stop())
      prepare(timers)
      await timers.start()
      return timers
    }
    const all: Timers[] = []
    for (let i = 0; i < count; i++) all.push(await more())
    return { all, more }
  }

  describe.each(['preload', 'lookahead', 'claim'] as const)('with %s', (strategy) => {
    it('leases each timer once over two instances, and again after a release or without an answer', async () => {
      const { all } = await instances(2, strategy, {}, (timers) => timers.deliver(work, lease()))
      const COUNT = 30
      const keys = Array.from({ length: COUNT }, (_, n) => `k${n}`)
      await all[0]!.setMany(
        work,
        keys.map((key, n) => ({ key, in: 0, payload: { n } })),
      )
      const attempts = new Map<string, number[]>()
      const acked = new Set<string>()
      const stale: string[] = []
      const worker = async (timers: Timers): Promise<void> => {
        while (acked.size < COUNT) {
          for (const { key, attempt, receipt } of await timers.lease(work, {
            max: 5,
            wait: '300ms',
            duration: '1s',
          })) {
            attempts.set(key, [...(attempts.get(key) ?? []), attempt])
            if (key === 'k3' && attempt === 1) {
              expect(await timers.release(receipt, { in: 0, reason: 'not now' })).toBe('released')
            } else if (key === 'k5' && attempt === 1) {
              stale.push(receipt)
            } else {
              expect(await timers.ack(receipt)).toBe('acked')
              acked.add(key)
            }
          }
        }
      }
      await Promise.all(all.map(worker))
      for (const [key, numbers] of attempts) {
        expect([key, numbers]).toEqual([key, key === 'k3' || key === 'k5' ? [1, 2] : [1]])
      }
      expect(await all[0]!.ack(stale[0]!)).toBe('stale')
      await until('all are settled', async () => (await all[0]!.stats()).store.settled === COUNT)
    })

    it('fires other kinds while nobody leases the timers of one kind', async () => {
      let fired = 0
      const { all } = await instances(
        1,
        strategy,
        { engine: { ...quick, strategy, maxTimers: 100 } },
        (timers) => {
          timers.deliver(idle, lease())
          timers.handle(work, () => void fired++)
        },
      )
      const [timers] = all
      await timers!.setMany(
        idle,
        Array.from({ length: 3000 }, (_, n) => ({ key: `idle-${n}`, in: 0, payload: { n } })),
      )
      await timers!.setMany(
        work,
        Array.from({ length: 100 }, (_, n) => ({ key: `work-${n}`, in: 500 + n * 20, payload: { n } })),
      )
      // Nobody leases the first 3,000: timers that waited for them would never fire.
      await until('the others', () => fired === 100)
      expect((await timers!.stats()).store.created).toBe(3100)
    })

    it('applies a target in the store at every instance, signs its messages, and follows its changes', async () => {
      const receiver = await Receiver.start((response) => void response.writeHead(204).end())
      stops.push(() => receiver.stop())
      const guard = { http: true, addresses: ['127.0.0.0/8'], ports: [Number(new URL(receiver.url).port)] }
      const { all, more } = await instances(2, strategy, { guard })
      const [one, other] = all as [Timers, Timers]
      await one.setTarget(remind, { type: 'webhook', url: `${receiver.url}/a`, secret })
      const send = async (timers: Timers, from: number): Promise<void> => {
        await timers.setMany(
          remind,
          Array.from({ length: 10 }, (_, n) => ({ key: `k${from + n}`, in: 0, payload: { n: from + n } })),
        )
      }
      await send(other, 0)
      await until('ten messages', () => receiver.received.length === 10)
      for (const { body, headers } of receiver.received) {
        expect(new Webhook(secret).verify(body, headers)).toMatchObject({ type: 'remind' })
      }
      expect(await other.removeTarget(remind)).toBe('removed')
      await until('all know', async () => (await one.getTarget(remind)) === undefined)
      // Longer than an instance takes to hear of it.
      await new Promise((resolve) => setTimeout(resolve, 1500))
      await send(one, 10)
      await new Promise((resolve) => setTimeout(resolve, 1000))
      expect(receiver.received).toHaveLength(10)
      await one.setTarget(remind, { type: 'webhook', url: `${receiver.url}/b`, secret })
      await until('the others', () => receiver.received.length === 20)
      await Promise.all(all.map((timers) => timers.stop()))
      const third = await more()
      expect(await third.getTarget(remind)).toMatchObject({ type: 'webhook', url: `${receiver.url}/b` })
      await send(third, 20)
      await until('thirty messages', () => receiver.received.length === 30)
      expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(30)
    })
  })
})
