import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import type { Operation } from '../../../src/store/index.js'
import { startOwnRedis } from '../../servers/redis.js'
import { own, setOf } from '../owner.js'
import { anyStep, ChunkWorld, rawClient, takeStep } from './chunk-world.js'
import { prefixOf, withNewPrefix } from './prefix.js'
import { openAt } from './open-at.js'

const server = await startOwnRedis()
const raw = rawClient(server.url)
await raw.connect()
afterAll(async () => {
  raw.destroy()
  await server.stop()
})

const cancelOf = ({ key }: { readonly key: string }): Operation => ({
  type: 'cancel',
  namespace: 'test',
  kind: 'sample',
  key,
})

describe('rows in a chunk', () => {
  it('are loaded, found, changed, counted, settled and swept like other rows', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 40 }), async (commands) => {
        const world = await ChunkWorld.open(server.url, raw)
        try {
          for (const [index, command] of commands.entries()) {
            await takeStep(world, command)
            if (index % 10 === 9) await world.check()
          }
          await world.check()
          expect(await world.listed()).toEqual(world.model.inOrder(world.model.settled))
        } finally {
          await world.stop()
        }
      }),
      { numRuns: 120, interruptAfterTimeLimit: 90_000 },
    )
  }, 120_000)

  it('are the rows of a large call with no other rows between them', async () => {
    const url = withNewPrefix(server.url)
    const store = await openAt(url)
    const fence = await own(store)
    const shard = `{${prefixOf(url)}:0}`
    const chunks = async () => (await raw.keys(`${shard}:c:*`)).length
    const call = async (count: number, from: number, payloadBytes = 10) =>
      await store.write(fence, {
        operations: Array.from({ length: count }, (_, index) =>
          setOf(`${from}-${index}`, from + index, { payload: Buffer.alloc(payloadBytes) }),
        ),
      })
    await call(127, 1000)
    expect(await chunks(), 'few rows make no chunk').toBe(0)
    await call(128, 2000)
    expect(await chunks(), 'many rows make a chunk').toBe(1)
    await call(500, 3000)
    expect(await chunks(), 'many rows behind the others').toBe(2)
    await call(500, 1500)
    expect(await chunks(), 'many rows between the others').toBe(3)
    await call(200, 100)
    expect(await chunks(), 'many rows before the others').toBe(4)
    await call(500, 3250)
    expect(await chunks(), 'many rows mixed with others make no chunk').toBe(4)
    await call(500, 10_000, 500)
    expect(await chunks(), 'many rows with too many bytes for one chunk make two').toBe(6)
    await call(128, 20_000, 4000)
    expect(await chunks(), '128 large rows make no chunk').toBe(6)
    expect(await store.countRows()).toBe(127 + 128 + 500 + 500 + 200 + 500 + 500 + 128)
  })

  it('free their memory when more than half are removed, and move to the hash when few are left', async () => {
    const url = withNewPrefix(server.url)
    const store = await openAt(url)
    const fence = await own(store)
    const shard = `{${prefixOf(url)}:0}`
    const sets = Array.from({ length: 1000 }, (_, index) => setOf(`key-${index}`, 1000 + index))
    await store.write(fence, { operations: sets })
    const [chunk] = await raw.keys(`${shard}:c:*`)
    const bytes = async () => await raw.strLen(chunk!)
    const whole = await bytes()
    const cancel = async (from: number, end: number) =>
      await store.write(fence, {
        operations: sets.slice(from, end).map(cancelOf),
      })
    await cancel(0, 500)
    expect(await bytes(), 'half of them removed').toBe(whole)
    await cancel(500, 501)
    expect(await bytes(), 'more than half removed').toBeLessThan(whole / 1.9)
    await cancel(501, 900)
    expect(await raw.exists(chunk!), 'nearly all removed').toBe(0)
    const left = sets.slice(900)
    expect((await store.find(left)).map((row) => row?.identity)).toEqual(left.map(({ identity }) => identity))
    const from = { position: 0, revision: 0 }
    const page = { from, untilExclusive: 5000, limit: 10, limitBytes: 1e9 }
    const loaded = await store.load(fence, page)
    expect([...loaded.page.positions]).toEqual(left.slice(0, 10).map(({ position }) => position))
    await cancel(900, 1000)
    expect(await raw.keys(`${shard}:[pc]:*`)).toEqual([])
    const rest = await store.load(fence, { ...page, from: loaded.readLevel })
    expect(rest.nextPosition).toBeUndefined()
  })

  it('give a load no next position when all rows behind its end were removed', async () => {
    const store = await openAt(withNewPrefix(server.url))
    const fence = await own(store)
    const sets = Array.from({ length: 200 }, (_, index) => setOf(`key-${index}`, 1000 + index))
    await store.write(fence, { operations: sets })
    await store.write(fence, {
      operations: sets.slice(150).map(cancelOf),
    })
    const from = { position: 0, revision: 0 }
    const { page, nextPosition } = await store.load(fence, {
      from,
      untilExclusive: 1150,
      limit: 1000,
      limitBytes: 1e9,
    })
    expect(page.size).toBe(150)
    expect(nextPosition).toBeUndefined()
  })

  it('count toward limitBytes even if removed, because they are sent with others', async () => {
    const store = await openAt(withNewPrefix(server.url))
    const fence = await own(store)
    const payload = Buffer.alloc(1000)
    for (let call = 0; call < 20; call++) {
      const sets = Array.from({ length: 200 }, (_, index) =>
        setOf(`${call}-${index}`, 1000 * call + index, { payload }),
      )
      await store.write(fence, { operations: sets })
      const operations = sets.slice(10, 105).map(cancelOf)
      await store.write(fence, { operations })
    }
    const from = { position: 0, revision: 0 }
    const request = { from, untilExclusive: 100_000, limit: 10_000, limitBytes: 500_000 }
    const { page } = await store.load(fence, request)
    // The rows of two calls, the first ten of the third, and the one row that is sent with the removed ones.
    expect(page.size).toBe(2 * 105 + 10 + 1)
  })

  it('do not exist in a store of mode claim', async () => {
    const url = withNewPrefix(server.url)
    const store = await openAt(url, { strategy: 'claim' })
    const operations = Array.from({ length: 100 }, (_, index) => setOf(`key-${index}`, 1000 + index))
    await store.write(undefined, { operations })
    expect(await raw.keys(`{${prefixOf(url)}:0}:c:*`)).toEqual([])
    const claimed = await store.claimDue({ owner: 'me', limit: 1000, leaseMs: 1000 })
    expect(claimed.length).toBe(100)
  })
})

describe('a Redis store of layout 2', () => {
  it('is upgraded to layout 3, and processes that know only layout 2 can no longer read or write it', async () => {
    const url = withNewPrefix(server.url)
    const prefix = prefixOf(url)
    const shard = `{${prefix}:0}`
    const before = await openAt(url)
    const sets = Array.from({ length: 50 }, (_, index) => setOf(`key-${index}`, 1000 + index))
    await before.write(await own(before), { operations: sets })
    await raw.rename(`${shard}:parts3`, `${shard}:parts`)
    await raw.hSet(`{${prefix}}`, 'version', '2')
    // Two processes may upgrade it at the same time.
    const [store] = await Promise.all([openAt(url), openAt(url)])
    expect(String(await raw.hGet(`{${prefix}}`, 'version'))).toBe('3')
    const found = await store.list({ namespace: 'test', limit: 100 })
    expect(found.items.map(({ key }) => key)).toEqual(sets.map(({ key }) => key))
    await expect(raw.zRange(`${shard}:parts`, 0, -1)).rejects.toThrow('WRONGTYPE')
  })
})
