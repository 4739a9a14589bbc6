import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { int8s } from '../../../src/store/postgres/binary-array.js'
import type { Database } from '../../../src/store/postgres/database.js'
import { WakeChannel } from '../../../src/store/postgres/wake-channel.js'

it('keeps 50 ms between the wake-ups of a shard, whenever others are woken', async () => {
  const sent = new Map<number, number[]>()
  const write = (_call: string, _sql: string, values: readonly unknown[]): Promise<void> => {
    for (const shard of int8s(values[1] as Buffer)) {
      sent.set(shard, [...(sent.get(shard) ?? []), performance.now()])
    }
    return Promise.resolve()
  }
  const channel = new WakeChannel({ schema: 's', write } as unknown as Database, undefined, 3)
  for (let round = 0; round < 20; round++) {
    for (const shard of [0, 1, 2]) {
      channel.wake(shard)
      channel.wake(shard)
      await sleep(7)
    }
  }
  await sleep(100)
  await channel.stop()
  for (const times of sent.values()) {
    expect(times.length).toBeGreaterThan(3)
    for (let i = 1; i < times.length; i++) expect(times[i]! - times[i - 1]!).toBeGreaterThan(49)
  }
  expect(sent.size).toBe(3)
})
