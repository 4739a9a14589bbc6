import { expect, it } from 'vitest'
import { MemoryStore } from '../../src/store/index.js'
import { own, setOf } from '../store/owner.js'
import { ReportingStore } from './chaos/reporting-store.js'

it('the reporting store of the trials does not report a cancelled timer as settled after a failed attempt', async () => {
  const lines: object[] = []
  const inner = new MemoryStore({ shardCount: 1 })
  const reporting = new ReportingStore(inner, 'none', (line) => void lines.push(line))
  const { store } = reporting
  const fence = await own(inner)
  await store.write(fence, { operations: [setOf('kept', 1), setOf('cancelled', 1)] })
  for (const key of ['kept', 'cancelled']) reporting.delivered(key)
  const { namespace, kind } = setOf('cancelled', 1)
  await store.write(fence, { operations: [{ type: 'cancel', namespace, kind, key: 'cancelled' }] })
  await store.load(fence, { from: fence.readLevel, untilExclusive: 10, limit: 10, limitBytes: 1e6 })
  const level = { position: 5, revision: 0 }
  await store.settle(fence, { id: 1, level, settledCount: 1, done: [], followUps: [], dead: [], history: [] })
  expect(lines).toMatchObject([{ say: 'settled', keys: ['kept'] }])
})
