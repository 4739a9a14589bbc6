import { expect, it } from 'vitest'
import { UnsortedPage } from '../../src/engine/load/unsorted-page.js'
import { Rig, START } from './rig.js'

// Seeds hardly ever meet this (mutant 'an early token is used for another row'). A row that waits for a clock that was
// set back is cancelled. The next row that gets its token is one whose attempt is under way.
it('a row that takes the place of an early one in memory is not started a second time', async () => {
  const settings = { carryAfterMs: 5000, settleMs: 1000, stallMs: 600_000 }
  const rig = new Rig({ settings, holdsAll: true })
  rig.handle = (firing) => {
    if (firing.row.key !== 'long') firing.report({ type: 'done' })
  }
  await rig.settled(rig.engine.open())
  // Loaded as one page, which the last row keeps in memory.
  await rig.submit(rig.set('long', 1000), rig.set('tick', 5000), rig.set('later', 100_000))
  await rig.settled(rig.engine.start())
  await rig.clock.advance('5s')
  expect(rig.fired).toMatchObject([{ key: 'long' }, { key: 'tick' }])
  rig.clock.jump(-3000)
  const now = rig.clock.now() - START
  await rig.submit(rig.set('early', now + 2500))
  // The wheel is ahead of the clock, so it hands the row out before its due time.
  rig.engine.refresh()
  // The page was full and is empty now, so the next row gets the same token.
  const others = Array.from({ length: UnsortedPage.CAPACITY - 1 }, (_, index) => `other-${index}`)
  await rig.submit(...others.map((key) => rig.set(key, 50_000)))
  const cancelled = await rig.submit(...[...others, 'early'].map((key) => rig.cancel(key)))
  expect(cancelled.every(({ outcome }) => outcome === 'cancelled')).toBe(true)
  expect(rig.engine.stats().counts.carried).toBe(0)
  await rig.clock.advance('3s')
  expect(rig.engine.stats().counts.carried).toBe(1)
  expect(rig.fired.filter(({ key }) => key === 'long')).toHaveLength(1)
})
