import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import type { Operation } from '../../../src/store/index.js'
import { startOwnRedis } from '../../servers/redis.js'
import { own, setOf } from '../owner.js'
import { anyStep, ChunkWorld, rawClient, take } from './chunk-world.js'
import { prefixOf, withNewPrefix } from './prefix.js'
import { openAt } from './scratch.js'

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

describe('rows of a call that are kept together', () => {
  it('are loaded, found, changed, counted, settled and swept like any other', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 40 }), async (commands) => {
        const world = await ChunkWorld.open(server.url, raw)
        try {
          for (const [index, command] of commands.entries()) {
            await take(world, command)
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

  it('lie in a chunk when they are many and come in the order of time, and otherwise do not', async () => {
    const url = withNewPrefix(server.url)
    const store = await openAt(url)
    const fence = await own(store)
    const shard = `{${prefixOf(url)}:0}`
    const chunks = async () => (await raw.keys(`${shard}:c:*`)).length
    const call = async (count: number, from: number, weight = 10) =>
      await store.write(fence, {
        operations: Array.from({ length: count }, (_, index) =>
          setOf(`${from}-${index}`, from + index, { payload: Buffer.alloc(weight) }),
        ),
      })
    await call(127, 1000)
    expect(await chunks(), 'few').toBe(0)
    await call(128, 2000)
    expect(await chunks(), 'many').toBe(1)
    await call(500, 3000)
    expect(await chunks(), 'many behind them').toBe(2)
    await call(500, 1500)
    expect(await chunks(), 'many between few and many').toBe(3)
    await call(200, 100)
    expect(await chunks(), 'many before few and many').toBe(4)
    await call(500, 3250)
    expect(await chunks(), 'many among others').toBe(4)
    await call(500, 10_000, 500)
    expect(await chunks(), 'many, too heavy for one').toBe(6)
    await call(128, 20_000, 4000)
    expect(await chunks(), 'as many, heavy by themselves').toBe(6)
    expect(await store.countRows()).toBe(127 + 128 + 500 + 500 + 200 + 500 + 500 + 128)
  })

  it('make room when most of them were taken out, and come back as rows when few are left', async () => {
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
    expect(await bytes(), 'half of them').toBe(whole)
    await cancel(500, 501)
    expect(await bytes(), 'more than half').toBeLessThan(whole / 1.9)
    await cancel(501, 900)
    expect(await raw.exists(chunk!), 'nearly all').toBe(0)
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

  it('of whom none stands behind a level have no next position', async () => {
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

  it('that were taken out count as what they weigh when others are sent with them', async () => {
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
    // Two calls with all that was taken out of them, of the next those before it, and one that comes with it.
    expect(page.size).toBe(2 * 105 + 10 + 1)
  })

  it('are never made by a store of claims', async () => {
    const url = withNewPrefix(server.url)
    const store = await openAt(url, { strategy: 'claim' })
    const operations = Array.from({ length: 100 }, (_, index) => setOf(`key-${index}`, 1000 + index))
    await store.write(undefined, { operations })
    expect(await raw.keys(`{${prefixOf(url)}:0}:c:*`)).toEqual([])
    const claimed = await store.claimDue({ owner: 'me', limit: 1000, leaseMs: 1000 })
    expect(claimed.length).toBe(100)
  })
})

describe('a store of layout 2', () => {
  it('is brought to layout 3, and whoever knows only layout 2 no longer reads or writes it', async () => {
    const url = withNewPrefix(server.url)
    const prefix = prefixOf(url)
    const shard = `{${prefix}:0}`
    const before = await openAt(url)
    const sets = Array.from({ length: 50 }, (_, index) => setOf(`key-${index}`, 1000 + index))
    await before.write(await own(before), { operations: sets })
    await raw.rename(`${shard}:parts3`, `${shard}:parts`)
    await raw.hSet(`{${prefix}}`, 'version', '2')
    // Two who come at once both do it.
    const [store] = await Promise.all([openAt(url), openAt(url)])
    expect(String(await raw.hGet(`{${prefix}}`, 'version'))).toBe('3')
    const found = await store.list({ namespace: 'test', limit: 100 })
    expect(found.items.map(({ key }) => key)).toEqual(sets.map(({ key }) => key))
    await expect(raw.zRange(`${shard}:parts`, 0, -1)).rejects.toThrow('WRONGTYPE')
  })
})
