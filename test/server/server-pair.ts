import { expect } from 'vitest'
import type { ServerOptions } from '../../src/server/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { shardOf } from '../../src/timer/index.js'
import { eventually } from '../eventually.js'
import { TestServer } from './test-server.js'

export const SHARDS = 8
const engine = { acquireMs: 20, heartbeatMs: 20, leaseMs: 2000, leaseMarginMs: 200, requestTimeoutMs: 3000 }

/** Two servers on one store, which counts the requests appended to inboxes. */
export async function startPair(options: Partial<ServerOptions> = {}, isReached = true) {
  const store = new MemoryStore({ shardCount: SHARDS })
  let appended = 0
  const counted = new Proxy(store, {
    get(target, name) {
      if (name === 'append') {
        return (requests: Parameters<typeof store.append>[0]) => {
          appended += requests.length
          return target.append(requests)
        }
      }
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  const common = { store: counted, auth: false, engine }
  const other = await TestServer.start(common)
  const owner = await TestServer.start({ ...common, ...options })
  const self = (await owner.call('GET', '/v1/members')).body.self as string
  const owned = async (): Promise<readonly number[]> => {
    const { shards } = (await other.call('GET', '/v1/shards')).body as {
      shards: { shard: number; owner: string }[]
    }
    return shards.filter((row) => row.owner === self).map(({ shard }) => shard)
  }
  await eventually(async () => expect(await owned()).not.toEqual([]))
  const shards = await owned()
  let made = 0
  /** A new key in a shard of the owner. */
  const key = (): string => {
    for (;;) {
      const name = `k${made++}`
      if (shards.includes(shardOf({ namespace: 'default', kind: 'remind', key: name }, SHARDS))) return name
    }
  }
  const forwards = async (outcome: string): Promise<number> => {
    const { text } = await other.call('GET', '/metrics')
    return Number(
      new RegExp(`^carillon_forwards_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0,
    )
  }
  const setFar = async (): Promise<string> => {
    const name = key()
    expect((await owner.call('PUT', `/v1/timers/remind/${name}`, { in: '1h' })).status).toBe(200)
    return name
  }
  if (isReached) {
    // An unused kind is answered without the owner.
    await setFar()
    await eventually(async () => {
      await other.call('DELETE', `/v1/timers/remind/${key()}`)
      expect(await forwards('answered')).toBeGreaterThan(0)
    })
  }
  return {
    store,
    other,
    owner,
    self,
    key,
    setFar,
    forwards,
    appended: () => appended,
    async [Symbol.asyncDispose]() {
      await other.server.stop()
      await owner.server.stop()
    },
  }
}
