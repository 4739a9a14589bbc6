import { expect, it } from 'vitest'
import { MemoryStore } from '../../src/store/index.js'
import { levelAfter, type TimerRow } from '../../src/timer/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { own, setOf } from './owner.js'

// An owner never names a row below its own level, so the simulator cannot notice this (mutant 'a settlement finds rows below the settled level').
it('a settlement has no effect on a row below the settled level', async () => {
  const clock = new VirtualClock()
  const store = new MemoryStore({ clock })
  const fence = await own(store)
  const position = clock.now() + 10
  await store.write(fence, { operations: ['a', 'b', 'c'].map((key) => setOf(key, position)) })
  await clock.advance(20)
  const { page } = await store.load(fence, {
    from: fence.readLevel,
    untilExclusive: clock.now() + 1,
    limit: 10,
    limitBytes: 1e6,
  })
  const rows: TimerRow[] = [0, 1, 2].map((index) => page.row(index))
  const level = levelAfter(rows[2]!)
  const empty = { level, settledCount: 0, done: [], followUps: [], dead: [], history: [] }
  await store.settle(fence, { ...empty, id: 1, settledCount: 3 })
  const before = await store.counts()
  const [a, b, c] = rows as [TimerRow, TimerRow, TimerRow]
  const answer = await store.settle(
    { ...fence, settledLevel: level },
    {
      ...empty,
      id: 2,
      done: [a],
      followUps: [{ row: b, dueAt: b.dueAt, attempt: 1, occurrence: 0, position: clock.now() }],
      dead: [{ row: c, diedAt: clock.now(), reason: 'late' }],
    },
  )
  expect(answer.followUps).toEqual([undefined])
  expect(answer.dead).toMatchObject([{ kept: false }])
  expect(await store.counts()).toEqual(before)
  expect(await store.countRows()).toBe(0)
})
