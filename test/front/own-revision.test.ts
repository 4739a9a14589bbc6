import { describe, expect, it } from 'vitest'
import { openTimers, timer } from '../../src/front/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { during } from '../during.js'

const stuck = timer<number>('stuck')
const busy = timer<number>('busy')

/** Timers with a kind that is paused and a kind that fires all the time, so that due rows are rewritten. */
async function open() {
  const clock = new VirtualClock({ start: Date.UTC(2026, 0, 1) })
  const store = new MemoryStore({ clock, shardCount: 1 })
  const timers = await openTimers({ store, clock: clock.fork(), logger: false })
  const run = <T>(work: Promise<T>) => during(clock, work, 5)
  timers.handle(stuck, () => undefined)
  timers.handle(busy, () => undefined)
  await run(timers.start())
  await run(timers.pause(stuck))
  const set = await run(timers.set(stuck, 'one', { in: '1s', payload: 1 }))
  const fire = async (seconds: number): Promise<void> => {
    for (let n = 0; n < seconds; n++) {
      await run(timers.set(busy, { in: 0, payload: n }))
      await clock.advance('1s')
    }
  }
  /** The row as the store has it. */
  const row = async () => (await store.find([{ namespace: 'default', kind: 'stuck', key: 'one' }]))[0]!
  return { clock, timers, run, set, fire, row }
}

describe('the revision of a due timer that cannot start', () => {
  it('stays the same while the engine rewrites its row', async () => {
    const { timers, run, set, fire, row } = await open()
    await fire(60)
    expect((await row()).revision).not.toBe(set.revision)
    expect((await run(timers.get(stuck, 'one')))?.revision).toBe(set.revision)
    expect((await run(timers.list({ kind: stuck }))).items[0]!.revision).toBe(set.revision)
    await run(timers.stop())
  })

  it('is accepted as a condition of a cancel, a move and a set', async () => {
    const { timers, run, set, fire } = await open()
    const ifRevision = set.revision!
    await fire(30)
    const other = ifRevision + 1_000_000
    expect(await run(timers.cancel(stuck, 'one', { ifRevision: other }))).toBe('conflict')
    expect(await run(timers.move(stuck, 'one', { in: 0 }, { ifRevision }))).toBe('moved')
    const moved = (await run(timers.get(stuck, 'one')))!.revision
    expect(moved).not.toBe(ifRevision)
    await fire(30)
    expect(await run(timers.cancel(stuck, 'one', { ifRevision }))).toBe('conflict')
    const again = await run(timers.set(stuck, 'one', { in: '1s', payload: 2, ifRevision: moved }))
    expect(again.outcome).toBe('set')
    await fire(30)
    const refused = await run(timers.set(stuck, 'one', { in: '1s', payload: 3, ifRevision: moved }))
    expect(refused).toMatchObject({ outcome: 'conflict', revision: again.revision })
    expect(await run(timers.cancel(stuck, 'one', { ifRevision: again.revision! }))).toBe('cancelled')
    await run(timers.stop())
  })

  it('changes when the timer is moved to the due time that it has', async () => {
    const { timers, run, set, fire } = await open()
    await fire(30)
    const { dueAt } = (await run(timers.get(stuck, 'one')))!
    expect(await run(timers.move(stuck, 'one', { at: dueAt }))).toBe('moved')
    expect((await run(timers.get(stuck, 'one')))!.revision).not.toBe(set.revision)
    await run(timers.stop())
  })
})
