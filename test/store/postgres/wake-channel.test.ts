import { expect, it } from 'vitest'
import { int8Values } from '../../../src/store/postgres/codec/binary-array.js'
import type { Database } from '../../../src/store/postgres/net/database.js'
import { WakeChannel } from '../../../src/store/postgres/net/wake-channel.js'
import { VirtualClock } from '../../../src/time/index.js'

it('a wake channel wakes a shard at most every 5 ms, even if other shards are woken meanwhile', async () => {
  const clock = new VirtualClock()
  const sent: number[][] = [[], [], []]
  const write = (_call: string, _sql: string, values: readonly unknown[]): Promise<void> => {
    for (const shard of int8Values(values[1] as Buffer)) sent[shard]!.push(clock.monotonic())
    return Promise.resolve()
  }
  const channel = new WakeChannel({ schema: 's', write } as unknown as Database, undefined, 3, clock)
  for (let round = 0; round < 20; round++) {
    for (const shard of [0, 1, 2]) {
      channel.wake(shard)
      channel.wake(shard)
      await clock.advance(1)
    }
  }
  await clock.advance(100)
  await channel.stop()
  for (const times of sent) {
    const between = times.slice(1).map((time, i) => time - times[i]!)
    expect(between.length).toBeGreaterThan(6)
    // No wake-up is lost, and none is delayed by another shard.
    for (const ms of between) expect([5, 6]).toContain(ms)
  }
})
