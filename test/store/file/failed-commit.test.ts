import { describe, expect, it } from 'vitest'
import { own, setOf } from '../owner.js'
import { newFolder, openIn } from './scratch.js'

describe('a failed commit of a file store', () => {
  it('leaves no trace in the pages that are loaded afterwards', async () => {
    let freeBytes = 1e9
    const store = await openIn(newFolder(), { fileSystem: () => ({ type: 0, freeBytes }) })
    const fence = await own(store)
    const at = Date.now() + 10_000
    const kept = Array.from({ length: 20 }, (_, i) => setOf(`kept${i}`, at + 10 * i))
    await store.write(fence, { operations: kept })
    const load = { untilExclusive: at + 1000, limitBytes: 1e9 }
    const { readLevel } = await store.load(fence, { ...load, from: fence.readLevel, limit: 3 })
    freeBytes = 0
    // Both calls share one turn: the load reads the rows of the write before it, and both fail together.
    const lost = Array.from({ length: 20 }, (_, i) => setOf(`lost${i}`, at + 10 * i + 5))
    const cancels = kept
      .slice(10)
      .map(({ namespace, kind, key }) => ({ type: 'cancel', namespace, kind, key }) as const)
    const failed = await Promise.allSettled([
      store.write(fence, { operations: [...lost, ...cancels] }),
      store.load(fence, { ...load, untilExclusive: readLevel.position, from: readLevel, limit: 5 }),
    ])
    expect(failed.map((each) => (each.status === 'rejected' ? each.reason.code : 'ok'))).toEqual([
      'store-full',
      'store-full',
    ])
    freeBytes = 1e9
    const keys: string[] = []
    for (let from = readLevel; keys.length < 17;) {
      const loaded = await store.load(fence, { ...load, from, limit: 5 })
      for (let i = 0; i < loaded.page.size; i++) keys.push(loaded.page.row(i).key)
      if (loaded.page.size === 0) break
      from = loaded.readLevel
    }
    expect(keys).toEqual(kept.slice(3).map(({ key }) => key))
  })
})
