import { setImmediate as turnEnd } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { lastPlace } from '../../../src/timer/index.js'
import { own, setOf } from '../owner.js'
import { newFolder, openIn } from './scratch.js'

const DAY_MS = 86_400_000

/** Counts the turns of the event loop that pass until the call is answered. */
async function turnsOf(call: Promise<unknown>): Promise<number> {
  const state = { isOver: false }
  void call.then(() => (state.isOver = true))
  for (let turns = 0; ; turns++) {
    if (state.isOver) return turns
    await turnEnd()
  }
}

describe('a list of a file store', () => {
  it('gives others a turn while it looks for rare timers, and none for a namespace without timers', async () => {
    const store = await openIn(newFolder())
    const fence = await own(store)
    const at = Date.now() + DAY_MS
    for (let batch = 0; batch < 6; batch++) {
      const operations = Array.from({ length: 10_000 }, (_, i) => setOf(`key-${batch}-${i}`, at + i))
      await store.write(fence, { operations })
    }
    const list = (query: object) => store.list({ namespace: 'test', limit: 100, ...query })
    const all = await turnsOf(list({ keyPrefix: 'nobody' }))
    expect(all).toBeGreaterThanOrEqual(6)
    for (const query of [{ namespace: 'empty' }, { kind: 'unused' }, { dueUntilExclusive: at - DAY_MS }])
      expect(await turnsOf(list(query))).toBeLessThan(all / 2)
    // Ten lists at once do not take ten steps in a turn.
    const many = await turnsOf(Promise.all(Array.from({ length: 10 }, () => list({ keyPrefix: 'nobody' }))))
    expect(many).toBeGreaterThanOrEqual(60)
  })

  it('has every timer that nobody touches once, while others are moved, split and swept', async () => {
    const tuning = { segmentRows: 64, heavyRows: 200, litterBytes: 256, manyChunks: 4, listedRows: 100 }
    const store = await openIn(newFolder(), { tuning })
    const fence = await own(store)
    const at = Date.now() + 10_000
    const kept = Array.from({ length: 3000 }, (_, i) =>
      setOf(`kept-${i}`, at + 1000 + ((i * 7919) % 1_000_000)),
    )
    const moved = Array.from({ length: 1000 }, (_, i) => setOf(`moved-${i}`, at + 1000 + i * 1000))
    await store.write(fence, { operations: [...kept, ...moved] })
    const state = { isListing: true }
    const disturb = async (): Promise<void> => {
      let from = fence.readLevel
      for (let round = 0; state.isListing; round++) {
        const operations = moved.slice((round * 50) % 1000, ((round * 50) % 1000) + 50).map((set, i) => {
          const position = set.position + ((round * 31 + i) % 5000)
          const { namespace, kind, key } = set
          return { type: 'move' as const, namespace, kind, key, dueAt: position, position }
        })
        await store.write(fence, { operations })
        // Loading splits heavy buckets, and sweeping repacks them.
        const untilExclusive = at + 1000 * ((round % 20) * 50)
        const { readLevel } = await store.load(fence, {
          from,
          untilExclusive,
          limit: 1e6,
          limitBytes: 2 ** 30,
        })
        from = readLevel
        await store.sweep(fence, lastPlace)
      }
    }
    const disturbing = disturb()
    const listAll = async (): Promise<string[]> => {
      const keys: string[] = []
      let cursor: string | undefined
      do {
        const page = await store.list({ namespace: 'test', keyPrefix: 'kept-', limit: 1000, cursor })
        keys.push(...page.items.map(({ key }) => key))
        cursor = page.cursor
      } while (cursor !== undefined)
      return keys
    }
    // Many at once, so that much is rewritten between two steps of each.
    for (const keys of await Promise.all(Array.from({ length: 20 }, listAll))) {
      expect(keys).toHaveLength(kept.length)
      expect(new Set(keys).size).toBe(kept.length)
    }
    state.isListing = false
    await disturbing
  })
})
