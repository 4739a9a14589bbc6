import { describe, expect, it } from 'vitest'
import { own, setOf } from '../owner.js'
import { newSchema, openStoreIn, usePostgres } from './scratch.js'

usePostgres()

describe('a list of a PostgreSQL store', () => {
  it('finds a key prefix that few timers have without reading the others', async () => {
    const store = await openStoreIn({ schema: newSchema(), shardCount: 1 })
    const fence = await own(store)
    const at = Date.now() + 100_000
    const common = Array.from({ length: 6000 }, (_, i) => setOf(`common-${i}`, at + i))
    const rare = ['rare-\u{10FFFF}', 'rare-2', 'rare-'].map((key, i) => setOf(key, at + 10_000 + i))
    const other = setOf('rare-3', at, { namespace: 'other' })
    await store.write(fence, { operations: [...common, ...rare, other, setOf('rarf', at)] })
    const query = { namespace: 'test', keyPrefix: 'rare-', budgetMs: 1 }
    const all = await store.list({ ...query, limit: 100 })
    expect(all).toMatchObject({ items: rare.map(({ key }) => ({ key })), cursor: undefined })
    const first = await store.list({ ...query, limit: 2 })
    expect(first.items.map(({ key }) => key)).toEqual(rare.slice(0, 2).map(({ key }) => key))
    const second = await store.list({ ...query, limit: 2, cursor: first.cursor })
    expect(second).toMatchObject({ items: [{ key: rare[2]!.key }], cursor: undefined })
    const many = await store.list({
      namespace: 'test',
      keyPrefix: 'common-',
      tag: 'nobody has it',
      limit: 100,
    })
    expect(many).toMatchObject({ items: [], cursor: undefined })
  })
})
