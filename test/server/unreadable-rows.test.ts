import { describe, expect, it } from 'vitest'
import { type Store, MemoryStore } from '../../src/store/index.js'
import { setOf } from '../../src/testing/store-contract/sample.js'
import { shardOf } from '../../src/timer/index.js'
import { eventually } from '../eventually.js'
import { TestServer } from './test-server.js'

/** Stores a timer behind the server's back, with a row that no server would write. */
async function store(
  to: Store,
  key: string,
  parts: Partial<Parameters<typeof setOf>[2]>,
  dueAt: number,
): Promise<void> {
  const name = { namespace: 'default', kind: 'remind', key }
  const shard = shardOf(name, to.shardCount)
  const operation = setOf(name, dueAt, { payload: Buffer.from('"x"'), ...parts })
  const deadline = Math.ceil(await to.now()) + 60_000
  await to.append([{ id: `direct ${key}`, shard, deadline, operation }])
  to.wake(shard)
}

const spoilt = {
  'details that are no JSON': { details: '{"on":' },
  'a schedule of an unknown type': { details: '{"on":{"version":1,"type":"lunar"}}' },
  'a retry policy that is none': { details: '{"retry":{"attempts":"x"}}', attempt: 1 },
}

describe('a row that cannot be read', () => {
  it.each(Object.entries(spoilt))(
    'becomes a dead letter when it is due, and others fire: %s',
    async (_, parts) => {
      const memory = new MemoryStore()
      await using served = await TestServer.start({ store: memory })
      await served.call('PUT', '/v1/targets/remind', { type: 'log' })
      await store(memory, 'spoilt', parts, Date.now())
      await served.call('PUT', '/v1/timers/remind/sound', { in: 0 })
      await eventually(async () => {
        const { body } = await served.call('GET', '/v1/dead')
        expect(body.items).toEqual([
          expect.objectContaining({
            key: 'spoilt',
            reason: expect.stringMatching(/^unreadable: /) as string,
          }),
        ])
      })
      await eventually(async () => {
        expect((await served.call('GET', '/v1/timers/remind/sound')).body.state).toBe('settled')
      })
      expect((await served.call('GET', '/healthz')).status).toBe(200)
      expect((await served.call('GET', '/metrics')).text).toContain('\ncarillon_unreadable_total 1\n')
      const { body } = await served.call('GET', '/v1/diagnosis')
      expect(body.causes).toEqual([expect.objectContaining({ code: 'unreadable' })])
      const id = (await served.call('GET', '/v1/dead')).body.items[0].id as string
      expect((await served.call('DELETE', `/v1/dead/${id}`)).status).toBe(200)
    },
  )

  it('is listed with its fault, beside the others, and can be cancelled', async () => {
    const memory = new MemoryStore()
    await using served = await TestServer.start({ store: memory })
    const later = Date.now() + 3_600_000
    await store(memory, 'details', { details: '{"on":' }, later)
    await store(memory, 'payload', { payload: Buffer.from('{') }, later)
    await served.call('PUT', '/v1/timers/remind/sound', { in: '1h' })
    await eventually(async () => {
      const { status, body } = await served.call('GET', '/v1/timers')
      expect(status).toBe(200)
      const faults = (body.items as { key: string; fault?: string }[])
        .map(({ key, fault }) => `${key} ${fault === undefined ? 'sound' : 'fault'}`)
        .toSorted()
      expect(faults).toEqual(['details fault', 'payload fault', 'sound sound'])
    })
    for (const key of ['details', 'payload'])
      expect((await served.call('DELETE', `/v1/timers/remind/${key}`)).status).toBe(200)
  })
})
