import { expect, it } from 'vitest'
import { MemoryStore } from '../../src/store/index.js'
import { own, setOf } from '../store/owner.js'
import { ToldStore } from './chaos/told-store.js'

it('a timer that was cancelled after a failed attempt is not told to be settled', async () => {
  const told: object[] = []
  const inner = new MemoryStore({ shardCount: 1 })
  const ear = new ToldStore(inner, 'none', (line) => void told.push(line))
  const { store } = ear
  const fence = await own(inner)
  await store.write(fence, { operations: [setOf('kept', 1), setOf('cancelled', 1)] })
  for (const key of ['kept', 'cancelled']) ear.delivered(key)
  const { namespace, kind } = setOf('cancelled', 1)
  await store.write(fence, { operations: [{ type: 'cancel', namespace, kind, key: 'cancelled' }] })
  await store.load(fence, { from: fence.readLevel, untilExclusive: 10, limit: 10, limitBytes: 1e6 })
  const level = { position: 5, revision: 0 }
  await store.settle(fence, { id: 1, level, settledCount: 1, done: [], followUps: [], dead: [], history: [] })
  expect(told).toMatchObject([{ say: 'settled', keys: ['kept'] }])
})
