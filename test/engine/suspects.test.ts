import { describe, expect, it } from 'vitest'
import { encodeDetails, isBefore } from '../../src/timer/index.js'
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

describe('a recurring timer that was cancelled while it fired', () => {
  it('does not start again after its owner was lost, although its row is above the read level', async () => {
    const recurring = { details: encodeDetails({ on: 'every 10 s' }) }
    const carriage = new FaultyCarriage()
    // Memory has space for four rows, so the read level ends between rows of the same millisecond.
    const small = { ...settings, maxTimers: 5, pageRows: 1, concurrency: 1 }
    const one = new Rig({ settings: small, carriage, memberId: 'one' })
    const two = new Rig({ settings, rig: one, memberId: 'two' })
    one.handle = () => undefined
    await one.settled(one.engine.open())
    await one.submit(one.set('a', 1000, recurring))
    for (const key of ['b', 'c', 'd', 'e']) await one.submit(one.set(key, 1000))
    await one.settled(one.engine.start())
    await one.clock.advance('2s')
    expect(one.fired).toMatchObject([{ key: 'a', attempt: 1 }])
    expect(await one.submit(one.cancel('a'))).toMatchObject([{ outcome: 'ending' }])
    const [shardRow] = await one.settled(one.store.shards())
    const [row] = await one.settled(one.store.find([{ namespace: 'n', kind: 'k', key: 'a' }]))
    expect(isBefore(row!, shardRow!.readLevel)).toBe(false)
    carriage.isCut = true
    await one.settled(two.engine.start())
    await one.clock.advance('60s')
    expect(two.fired.map(({ key }) => key).toSorted()).toEqual(['b', 'c', 'd', 'e'])
    expect(await one.settled(two.store.find([{ namespace: 'n', kind: 'k', key: 'a' }]))).toEqual([undefined])
  })
})

/**
 * An owner is cut off, and another starts after a while and takes over. Returns when the lease of the first ended, and
 * the number of the timer's next attempt.
 */
async function attemptAfterTakeover(dueInMs: number, outageMs = 0) {
  const carriage = new FaultyCarriage()
  const one = new Rig({ settings, carriage, memberId: 'one' })
  const two = new Rig({ settings, rig: one, memberId: 'two' })
  await one.settled(one.engine.start())
  await one.submit(one.set('a', dueInMs))
  await one.clock.advance('2s')
  carriage.isCut = true
  await one.clock.advance(outageMs)
  await one.settled(two.engine.start())
  await one.clock.advance('60s')
  return { endedAt: one.eventsOf('acquired')[0]!.at + settings.leaseMs, attempt: two.fired[0]!.attempt }
}

// Seeds do not meet this (mutant 'suspects are found without an allowance for clock offsets'). After the store's clock
// was set back by more than the margin, the lost owner must have had renewals but no heartbeat for the rest of its
// lease.
describe('a timer that was due soon after the lease of a lost owner had ended', () => {
  it('is a suspect, because the clock of that owner may have been ahead within the tolerance', async () => {
    const { endedAt } = await attemptAfterTakeover(50_000)
    expect(await attemptAfterTakeover(endedAt + 400)).toEqual({ endedAt, attempt: 2 })
    expect(await attemptAfterTakeover(endedAt + 600)).toEqual({ endedAt, attempt: 1 })
  })

  it('counts no attempt after an outage of five minutes, although the lost owner had loaded it', async () => {
    const { endedAt } = await attemptAfterTakeover(50_000)
    expect(await attemptAfterTakeover(endedAt - 1000, 300_000)).toEqual({ endedAt, attempt: 2 })
    expect(await attemptAfterTakeover(endedAt + 30_000, 300_000)).toEqual({ endedAt, attempt: 1 })
  })
})

// Seeds do not meet this (mutant "the end of the lease is not compared with the store's clock"). A machine and the store
// must be set forward by the same time, with a renewal in between.
describe("an owner whose lease is over by the store's clock", () => {
  it('starts nothing until it has renewed the lease, although its own clocks say that the lease runs', async () => {
    const carriage = new FaultyCarriage()
    // Only its clock matters: it is that of the store.
    const store = new Rig({ settings })
    const one = new Rig({ settings, rig: store, carriage, memberId: 'one' })
    await store.settled(one.engine.start())
    await one.submit(one.set('a', 1_800_000))
    const renewals = (): number => carriage.calls.filter(({ name }) => name === 'renew').length
    const beats = (): number => carriage.calls.filter(({ name }) => name === 'heartbeat').length
    const untilNext = async (count: () => number): Promise<void> => {
      for (const before = count(); count() === before;) await store.clock.advance(1)
    }
    // The next call but one is a renewal: no heartbeat sees that the machine is ahead.
    await store.clock.advance('4.5s')
    one.clock.jump(3_600_000)
    const seenBeats = beats()
    await untilNext(renewals)
    expect(beats()).toBe(seenBeats)
    store.clock.jump(3_600_000)
    carriage.fails = ({ name }) => name === 'renew'
    await untilNext(beats)
    await store.clock.advance('3s')
    expect(one.eventsOf('loaded').at(-1)!.count).toBe(1)
    expect(one.fired).toEqual([])
    carriage.fails = () => false
    await store.clock.advance('1s')
    expect(one.fired).toMatchObject([{ key: 'a', attempt: 1 }])
  })
})
