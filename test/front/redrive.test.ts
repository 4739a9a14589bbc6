import { describe, expect, it } from 'vitest'
import type { TimerFiring } from '../../src/delivery/index.js'
import { messageIdOf } from '../../src/delivery/webhook/message-text.js'
import { openTimers, timer, type Timers } from '../../src/front/index.js'
import { every } from '../../src/schedule/index.js'
import { MemoryStore, type StoreMode } from '../../src/store/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { during } from '../during.js'

const kind = timer('kind', { retry: { attempts: 2, backoff: '1s' } })

interface Seen {
  readonly key: string
  readonly occurrence: number
  readonly id: string
  readonly messageId: string
}

/** Started timers whose handler fails while `state.isFailing`, and what it saw. */
async function open(mode: StoreMode) {
  const clock = new VirtualClock({ start: Date.UTC(2026, 0, 1) })
  const store = new MemoryStore({ clock, strategy: mode, shardCount: 4 })
  const timers: Timers = await openTimers({ store, clock })
  const seen: Seen[] = []
  const state = { isFailing: true, isAgain: false }
  timers.handle(kind, (firing: TimerFiring<undefined>) => {
    const { key, occurrence, id } = firing
    seen.push({ key, occurrence, id, messageId: messageIdOf(firing) })
    if (state.isFailing) throw new Error('the receiver is down')
    if (state.isAgain) firing.again({ in: '1m' })
    state.isAgain = false
  })
  await during(clock, timers.start(), 5)
  return { clock, timers, seen, state, run: <T>(work: Promise<T>) => during(clock, work, 5) }
}

const idsOf = (seen: readonly Seen[]) => new Set(seen.map(({ id }) => id))
const messageIdsOf = (seen: readonly Seen[]) => new Set(seen.map(({ messageId }) => messageId))

describe.each(['owned', 'claim'] as const)('a redriven dead letter, in a store for %s', (mode) => {
  it('keeps its firing id, however often it is redriven', async () => {
    const { clock, timers, seen, state, run } = await open(mode)
    await run(timers.set(kind, 'x', { in: '1s' }))
    for (let round = 0; round < 3; round++) {
      await clock.advance('1m')
      state.isFailing = round < 2
      expect((await run(timers.redrive({ kind }))).count).toBe(1)
    }
    await clock.advance('1m')
    expect(seen).toHaveLength(7)
    expect(idsOf(seen).size).toBe(1)
    expect(messageIdsOf(seen).size).toBe(1)
    await run(timers.stop())
  })

  it('keeps its firing id if it gets another key, because a timer has its own', async () => {
    const { clock, timers, seen, state, run } = await open(mode)
    await run(timers.set(kind, 'x', { on: every('1h') }))
    await clock.advance('61m')
    expect(seen).toHaveLength(2)
    state.isFailing = false
    expect((await run(timers.redrive({ kind }))).beside).toHaveLength(1)
    await clock.advance('1m')
    expect(seen).toHaveLength(3)
    expect(seen[2]!.key).not.toBe('x')
    expect(idsOf(seen).size).toBe(1)
    expect(messageIdsOf(seen).size).toBe(1)
    // The next occurrence of the recurring timer is another one.
    await clock.advance('1h')
    expect(seen.map(({ occurrence }) => occurrence)).toEqual([0, 0, 0, 1])
    expect(idsOf(seen).size).toBe(2)
    await run(timers.stop())
  })

  it('has a new firing id for an occurrence that it asks for with again', async () => {
    const { clock, timers, seen, state, run } = await open(mode)
    await run(timers.set(kind, 'x', { in: '1s' }))
    await clock.advance('1m')
    state.isFailing = false
    state.isAgain = true
    await run(timers.redrive({ kind }))
    await clock.advance('5m')
    expect(seen.map(({ occurrence }) => occurrence)).toEqual([0, 0, 0, 1])
    expect(idsOf(seen.slice(0, 3)).size).toBe(1)
    expect(idsOf(seen).size).toBe(2)
    expect(messageIdsOf(seen).size).toBe(2)
    await run(timers.stop())
  })
})
