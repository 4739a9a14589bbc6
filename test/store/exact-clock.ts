import { expect, it } from 'vitest'
import type { Store } from '../../src/store/index.js'
import { own, setOf } from './owner.js'

/** Cases for stores whose server has a clock with microseconds. */
export function describeExactClock(open: () => Promise<Store>): void {
  it('answers the time with the microseconds of its server', async () => {
    const store = await open()
    const times: number[] = []
    for (let i = 0; i < 20; i++) {
      times.push(await store.now(), (await store.heartbeat({ id: 'a', details: '' }, 1000)).now)
    }
    // About one time in a thousand is a whole millisecond.
    expect(times.filter((time) => !Number.isInteger(time)).length).toBeGreaterThan(30)
    // Each time is the number nearest to a whole number of microseconds.
    for (const time of times) expect(time).toBe(Math.round(time * 1000) / 1000)
  })

  it('stores leases, levels and deadlines as whole milliseconds', async () => {
    const store = await open()
    const fence = await own(store)
    await store.write(fence, { operations: [setOf('a', 1000)] })
    const row = await store.renew(fence, 60_000)
    const again = await store.refence(fence, 12_345, 60_000)
    const [shard] = await store.shards()
    for (const { leaseUntil, suspects } of [row, again, shard!]) {
      expect([Number.isInteger(leaseUntil), Number.isInteger(suspects.dueUntil)]).toEqual([true, true])
      expect(leaseUntil).toBeLessThanOrEqual((await store.now()) + 60_000)
    }
    const { members } = await store.heartbeat({ id: 'b', details: '' }, 60_000)
    expect(members.map(({ id }) => id)).toContain('b')
  })
}
