/**
 * npm run bench forwarding [-- --n 300]: how long a change takes over HTTP through an instance that does not own the
 * shard, with and without forwarding to the owner, on PostgreSQL and on a Redis Cluster. Two pairs of servers run in this
 * process, one with forwarding and one without. They are called in turn, one call at a time, so that both see the same
 * machine.
 */
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Server } from 'carillon/server'
import { openStore, type Store } from 'carillon/store'
import { Pool } from 'undici'
import { startPostgres } from '../test/servers/postgres.js'
import { RedisClusterServer } from '../test/servers/redis-cluster.js'

const { values } = parseArgs({ options: { n: { type: 'string', default: '300' } } })
const rounds = Number(values.n)
const steps = ['set', 'set if absent', 'move', 'cancel'] as const
type Step = (typeof steps)[number]
const path = (key: string): string => `/v1/timers/bench/${key}`
const body = JSON.stringify({ in: '1h', payload: 'x' })

/** Two servers on one store. The first one is called for timers that the second one owns. */
class Pair {
  readonly ms = new Map<Step, number[]>(steps.map((step) => [step, []]))
  readonly #servers: Server[] = []
  readonly #stores: Store[] = []
  #pool: Pool | undefined
  #appended = 0
  #made = 0

  static async start(url: string, forwarding: boolean): Promise<Pair> {
    const pair = new Pair()
    for (let index = 0; index < 2; index++) {
      const store = await openStore(url)
      pair.#stores.push(store)
      const options = { port: 0, auth: false, rate: 0, forwarding }
      pair.#servers.push(await Server.start({ store: pair.#counting(store), ...options }))
    }
    pair.#pool = new Pool(pair.#servers[0]!.url, { connections: 1 })
    return pair
  }

  /** Runs each step once on a timer of the other server. */
  async round(): Promise<void> {
    for (;;) {
      const key = `k${this.#made++}`
      const before = this.#appended
      const setMs = await this.#call('PUT', path(key), body)
      // A set that did not go through an inbox was for a shard of the called server itself.
      if (this.#appended === before) continue
      this.ms.get('set')!.push(setMs)
      // The owner must have applied it before the next step is measured.
      await sleep(60)
      this.ms.get('move')!.push(await this.#call('POST', `${path(key)}/move`, '{"in":"2h"}'))
      this.ms.get('cancel')!.push(await this.#call('DELETE', path(key)))
      const absent = { 'if-none-match': '*' }
      this.ms.get('set if absent')!.push(await this.#call('PUT', path(key), body, absent))
      return
    }
  }

  async stop(): Promise<void> {
    await this.#pool?.close()
    for (const server of this.#servers) await server.stop()
    for (const store of this.#stores) await store.stop()
  }

  async #call(
    method: 'PUT' | 'POST' | 'DELETE',
    to: string,
    sent?: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<number> {
    const from = performance.now()
    const answer = await this.#pool!.request({
      method,
      path: to,
      headers: { ...headers, ...(sent !== undefined && { 'content-type': 'application/json' }) },
      ...(sent !== undefined && { body: sent }),
    })
    const text = await answer.body.text()
    if (answer.statusCode >= 300)
      throw new Error(`${method} ${to} failed with status ${answer.statusCode}: ${text}`)
    return performance.now() - from
  }

  #counting(store: Store): Store {
    const append: Store['append'] = (requests) => {
      this.#appended += requests.length
      return store.append(requests)
    }
    return new Proxy(store, {
      get(target, name) {
        if (name === 'append') return append
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
  }
}

async function measure(name: string, urlOf: (pair: string) => string): Promise<void> {
  const [on, off] = [await Pair.start(urlOf('on'), true), await Pair.start(urlOf('off'), false)]
  // Wait until each server owns its shards and knows the other's address.
  await sleep(8000)
  for (let round = 0; round < 20 + rounds; round++) {
    await on.round()
    await off.round()
    if (round === 19) for (const pair of [on, off]) for (const ms of pair.ms.values()) ms.length = 0
  }
  for (const step of steps) {
    const [direct, byInbox] = [on.ms.get(step)!, off.ms.get(step)!]
    const ratio = quantile(byInbox, 0.5) / quantile(direct, 0.5)
    process.stdout.write(
      `${name.padEnd(10)} ${step.padEnd(14)} with ${shown(direct)}   without ${shown(byInbox)}   ` +
        `p50 without / with ${ratio.toFixed(2)}\n`,
    )
  }
  await on.stop()
  await off.stop()
}

function quantile(ms: readonly number[], share: number): number {
  return ms.toSorted((a, b) => a - b)[Math.floor(share * (ms.length - 1))] ?? Number.NaN
}

function shown(ms: readonly number[]): string {
  return [0.5, 0.99].map((share) => quantile(ms, share).toFixed(1).padStart(6)).join(' / ') + ' ms'
}

process.stdout.write(`p50 / p99 of ${rounds} calls each, interleaved, with and without forwarding\n`)
const postgres = await startPostgres()
await measure('postgres', (pair) => `${postgres.url}?schema=bench_${pair}`)
await postgres.stop()
const cluster = await RedisClusterServer.start()
await measure('cluster', (pair) => `${cluster.url}?prefix=bench-${pair}`)
await cluster.stop()
