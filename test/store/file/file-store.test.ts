import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../../src/time/index.js'
import { own, setOf } from '../owner.js'
import { newFolder, openIn } from './scratch.js'

describe('a file store that is opened again', () => {
  it('has every acknowledged timer and none that was removed', async () => {
    const folder = newFolder()
    const first = await openIn(folder)
    const fence = await own(first)
    const at = Date.now() + 1000
    const names = Array.from({ length: 3000 }, (_, i) => `key-${i}`)
    const steps = [0, 500, 90_000, 5_000_000, 300_000_000, 30_000_000_000]
    const operations = names.map((key, i) => setOf(key, at + steps[i % steps.length]! + i))
    await first.write(fence, { operations })
    const name = (i: number) => ({ namespace: 'test', kind: 'sample', key: names[i]! })
    await first.write(fence, {
      operations: names
        .slice(0, 6)
        .map((key) => ({ type: 'cancel', namespace: 'test', kind: 'sample', key })),
    })
    await first.write(fence, {
      operations: [{ type: 'move', ...name(10), dueAt: at + 7, position: at + 7 }, setOf('key-11', at + 9)],
    })
    const before = await first.list({ namespace: 'test', limit: 10_000 })
    await first.stop()
    const second = await openIn(folder)
    const after = await second.list({ namespace: 'test', limit: 10_000 })
    expect(after.items).toHaveLength(2994)
    expect(after).toEqual(before)
    expect(await second.countRows()).toBe(2994)
    expect(await second.counts()).toEqual({ created: 3001, settled: 0, cancelled: 6, replaced: 1, dead: 0 })
    const found = await second.find([name(0), name(10), name(11), name(12)])
    expect(found.map((row) => row?.position)).toEqual([undefined, at + 7, at + 9, operations[12]!.position])
  })
})

// A copy counts as a folder whose owner is dead.
describe('the shards of a file store whose owner is dead', () => {
  const leaseMs = 10_000

  /** Opens a copy of a store with an owner, when the clock has advanced by `afterMs`, and then sets the clock by `stepMs`. */
  async function acquiredAfter(afterMs: number, stepMs = 0) {
    const clock = new VirtualClock()
    const store = await openIn(newFolder(), { clock })
    const request = { shard: 0, owner: 'first', nonce: 1, leaseMs, expectedEpoch: 0 }
    const { leaseUntil } = (await store.acquire(request))!
    const copy = path.join(newFolder(), 'copy')
    await store.backup(copy)
    clock.advanceSync(afterMs)
    const next = await openIn(copy, { clock })
    clock.jump(stepMs)
    const row = await next.acquire({ ...request, owner: 'second', expectedEpoch: 1 })
    return { row, leaseUntil, now: clock.now() }
  }

  it('can be acquired at once, and suspect nothing that is due later than now', async () => {
    const { row, now } = await acquiredAfter(2000)
    expect(row!.suspects.dueUntil).toBe(now)
  })

  it('can be acquired at once, even if the clock was set back since the store was opened', async () => {
    const { row, now } = await acquiredAfter(2000, -1500)
    expect(row!.suspects.dueUntil).toBe(now)
  })

  it('suspect nothing that became due after the lease had ended', async () => {
    const { row, leaseUntil } = await acquiredAfter(3_600_000)
    expect(row!.suspects.dueUntil).toBe(leaseUntil)
  })
})
