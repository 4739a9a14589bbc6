import { describe, expect, it } from 'vitest'
import { Rig } from './rig.js'
import { FaultyCarriage } from './faulty-carriage.js'

const settings = { leaseMs: 10_000, acquireMs: 2000, heartbeatMs: 2000 }

/** An owner starts an attempt at 'a' and is cut off from the store. Another takes over and cannot load yet. */
async function takenOver() {
  const carriage = new FaultyCarriage()
  const slow = new FaultyCarriage()
  const one = new Rig({ settings, carriage, memberId: 'one' })
  const two = new Rig({ settings, rig: one, carriage: slow, memberId: 'two' })
  one.handle = () => undefined
  await one.settled(one.engine.start())
  await one.submit(one.set('a', 1000))
  await one.clock.advance('2s')
  expect(one.fired).toMatchObject([{ key: 'a', attempt: 1 }])
  carriage.isCut = true
  slow.fails = ({ name }) => name === 'load'
  await one.settled(two.engine.start())
  await one.clock.advance('20s')
  expect(two.engine.shards).toHaveLength(1)
  return { one, two, slow }
}

// The new owner has nearly always loaded a row before anybody moves it. So seeds of the simulator hardly ever meet this
// (mutant 'a move of a suspect forgets its attempt').
describe('a row that a lost owner may have attempted', () => {
  it('keeps the count of that attempt when it is moved before it is loaded', async () => {
    const { one, two, slow } = await takenOver()
    expect(await two.submit(two.move('a', 40_000))).toMatchObject([{ outcome: 'moved' }])
    slow.fails = () => false
    await one.clock.advance('30s')
    expect(two.fired).toMatchObject([{ key: 'a', attempt: 2, id: one.fired[0]!.id }])
  })

  it('counts that attempt only once if nobody moves it', async () => {
    const { one, two, slow } = await takenOver()
    slow.fails = () => false
    await one.clock.advance('30s')
    expect(two.fired).toMatchObject([{ key: 'a', attempt: 2 }])
  })
})

/** An owner is cut off and another takes over. Returns when, and the number of the timer's next attempt. */
async function attemptAfterTakeover(dueInMs: number) {
  const carriage = new FaultyCarriage()
  const one = new Rig({ settings, carriage, memberId: 'one' })
  const two = new Rig({ settings, rig: one, memberId: 'two' })
  await one.settled(one.engine.start())
  await one.submit(one.set('a', dueInMs))
  await one.clock.advance('2s')
  carriage.isCut = true
  await one.settled(two.engine.start())
  await one.clock.advance('60s')
  return { takenAt: two.eventsOf('acquired')[0]!.at, attempt: two.fired[0]!.attempt }
}

// Seeds do not meet this (mutant 'suspects are found without an allowance for clock offsets'). After the store's clock
// was set back by more than the margin, the lost owner must have had renewals but no heartbeat for the rest of its
// lease.
describe('a timer that was due soon after a takeover', () => {
  it('is a suspect, because the clock of the lost owner may have been ahead within the tolerance', async () => {
    const { takenAt } = await attemptAfterTakeover(50_000)
    expect(await attemptAfterTakeover(takenAt + 400)).toEqual({ takenAt, attempt: 2 })
    expect(await attemptAfterTakeover(takenAt + 600)).toEqual({ takenAt, attempt: 1 })
  })
})
