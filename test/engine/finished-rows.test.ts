import { describe, expect, it } from 'vitest'
import { FinishedRows } from '../../src/engine/settle/finished-rows.js'
import { VirtualClock } from '../../src/time/index.js'
import { firstPlace, levelAt } from '../../src/timer/index.js'

const none = { settledLevel: firstPlace, forgettable: firstPlace }
const limits = { ms: 60_000, count: 1000, bytes: 1_000_000 }

describe('the finished rows of a shard', () => {
  it('are forgotten when they are older than the limit, the earliest first', async () => {
    const clock = new VirtualClock()
    const rows = new FinishedRows(clock, limits, none)
    expect([rows.forgettable(), rows.msLeft()]).toEqual([firstPlace, Infinity])
    rows.add(levelAt(10), 5, 500)
    await clock.advance('20s')
    rows.add(levelAt(20), 5, 500)
    expect(rows.msLeft()).toBe(40_000)
    await clock.advance(39_999)
    expect(rows.forgettable()).toEqual(firstPlace)
    await clock.advance(1)
    expect(rows.forgettable()).toEqual(levelAt(10))
    expect(rows.msLeft()).toBe(20_000)
    await clock.advance('20s')
    expect([rows.forgettable(), rows.msLeft()]).toEqual([levelAt(20), Infinity])
  })

  it.each([
    ['many', 100, 1],
    ['large', 1, 100_000],
  ])('are forgotten when they are too %s, and about as many as allowed stay', async (_, count, bytes) => {
    const clock = new VirtualClock()
    const rows = new FinishedRows(clock, limits, none)
    for (let level = 1; level <= 30; level++) {
      rows.add(levelAt(level), count, bytes)
      await clock.advance(100)
    }
    expect(rows.forgettable()).toEqual(levelAt(20))
  })

  it('are worth an early sweep once half of what may be remembered can be forgotten, until they are swept', async () => {
    const clock = new VirtualClock()
    const rows = new FinishedRows(clock, limits, none)
    for (let level = 1; level <= 15; level++) {
      rows.add(levelAt(level), 100, 1)
      rows.forgettable()
      expect(rows.isMuchForgettable).toBe(level === 15)
      await clock.advance(100)
    }
    rows.swept()
    expect(rows.isMuchForgettable).toBe(false)
    rows.add(levelAt(16), 1, 500_000)
    rows.forgettable()
    expect(rows.isMuchForgettable).toBe(false)
    rows.add(levelAt(17), 1, 500_001)
    rows.forgettable()
    expect(rows.isMuchForgettable).toBe(true)
  })

  it('share marks, so that a settlement each second costs little', async () => {
    const clock = new VirtualClock()
    const rows = new FinishedRows(clock, limits, none)
    for (let level = 1; level <= 10; level++) rows.add(levelAt(level), 1, 1)
    await clock.advance('1m')
    expect([rows.forgettable(), rows.msLeft()]).toEqual([levelAt(10), Infinity])
  })

  it('of the last owner are kept for as long again, unless there are too many since', async () => {
    const clock = new VirtualClock()
    const before = { settledLevel: levelAt(100), forgettable: levelAt(40) }
    const rows = new FinishedRows(clock, limits, before)
    expect(rows.forgettable()).toEqual(levelAt(40))
    rows.add(levelAt(110), 400, 1)
    expect(rows.forgettable()).toEqual(levelAt(40))
    rows.add(levelAt(120), 101, 1)
    expect(rows.forgettable()).toEqual(levelAt(100))
  })
})
