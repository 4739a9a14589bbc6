import { describe, expect, it } from 'vitest'
import { Chaos } from '../../../src/testing/simulation/plan/chaos.js'
import type { CallFate, Fault, FaultKind } from '../../../src/testing/simulation/plan/fault.js'
import { FaultyCarriage } from '../../../src/testing/simulation/world/faulty-carriage.js'
import { Gate } from '../../../src/testing/simulation/world/gate.js'
import { Random } from '../../../src/testing/random.js'
import { VirtualClock } from '../../../src/time/index.js'

const TIMEOUT_MS = 1000

function setUp() {
  const clock = new VirtualClock()
  const gate = new Gate(clock, () => undefined)
  const chaos = new Chaos({ minMs: 2, maxMs: 5, timeoutMs: TIMEOUT_MS }, 1)
  const events: string[] = []
  const start = clock.now()
  const say = (text: string): void =>
    void events.push(`${Math.round((clock.now() - start) / 100) / 10} ${text}`)
  const carriage = new FaultyCarriage(
    {
      clock,
      gate,
      chaos,
      observe: () => ({
        commit: (commit) => {
          say('commit')
          return commit()
        },
        answered: () => undefined,
      }),
    },
    0,
    new Random(1),
  )
  const call = (): void => {
    carriage.carry({ name: 'write' }, () => 'ok').then(say, (error: { code: string }) => say(error.code))
  }
  const strike = (kind: FaultKind): Fault => {
    const fault: Fault = { id: 1, at: 0, instance: 0, ...kind }
    chaos.begin(fault)
    return fault
  }
  return { clock, gate, chaos, carriage, events, call, strike }
}

describe('a faulty carriage', () => {
  it('takes time there and back when nothing is wrong', async () => {
    const { clock, call, events } = setUp()
    call()
    await clock.advance(1)
    expect(events).toEqual([])
    await clock.advance(10)
    expect(events).toEqual(['0 commit', '0 ok'])
  })

  it.each<[CallFate, number, string[]]>([
    ['error-before', 0, ['0 store-unavailable']],
    ['error-after', 0, ['0 commit', '0 unknown-outcome']],
    ['late-commit', 8000, ['0 unknown-outcome', '8 commit']],
    ['slow-commit', 500, ['0.5 commit', '0.5 ok']],
    ['slow-commit', 3000, ['1 unknown-outcome', '3 commit']],
    ['slow-answer', 500, ['0 commit', '0.5 ok']],
    ['slow-answer', 3000, ['0 commit', '1 unknown-outcome']],
  ])('carries a call with the fate %s by %d ms', async (fate, delayMs, expected) => {
    const { clock, call, events, strike } = setUp()
    strike({ type: 'calls', calls: 'write', count: 1, fate, delayMs })
    call()
    await clock.advance(20_000)
    expect(events).toEqual(expected)
    events.length = 0
    call()
    await clock.advance(100)
    expect(events).toEqual(['20 commit', '20 ok'])
  })

  it.each([
    ['refused', ['0 store-unavailable']],
    ['silent', ['1 unknown-outcome']],
    ['deaf', ['0 commit', '1 unknown-outcome']],
  ] as const)('carries a call in a partition of the mode %s', async (mode, expected) => {
    const { clock, call, chaos, events, strike } = setUp()
    const fault = strike({ type: 'partition', forMs: 1, mode })
    call()
    await clock.advance(5000)
    expect(events).toEqual(expected)
    chaos.end(fault)
    call()
    await clock.advance(100)
    expect(events.slice(expected.length)).toEqual(['5 commit', '5 ok'])
  })

  it.each([
    ['commits', ['0 commit']],
    ['is-lost', []],
    ['commits-late', ['commit']],
  ] as const)('after a crash with sent calls %s, no answer arrives', async (sent, expected) => {
    const { clock, call, carriage, gate, events } = setUp()
    call()
    gate.shut()
    carriage.abandon(sent)
    await clock.advance(30_000)
    expect(events.map((event) => (sent === 'commits-late' ? event.slice(-6) : event))).toEqual(expected)
  })

  it('holds answers back during a pause while the store continues', async () => {
    const { clock, call, gate, events } = setUp()
    call()
    gate.hold()
    await clock.advance(2000)
    gate.release()
    await clock.advance(10)
    expect(events).toEqual(['0 commit', '2 ok'])
  })

  it('loses wake-ups or delays them', async () => {
    const { clock, carriage, chaos, events, strike } = setUp()
    const lost = strike({ type: 'wakes', forMs: 1, delayMs: undefined })
    carriage.wake(() => events.push('lost'))
    chaos.end(lost)
    strike({ type: 'wakes', forMs: 1, delayMs: 700 })
    carriage.wake(() => events.push('late'))
    await clock.advance(699)
    expect(events).toEqual([])
    await clock.advance(10)
    expect(events).toEqual(['late'])
  })

  it('carries every call without a fault once it is calm', async () => {
    const { clock, call, chaos, events, strike } = setUp()
    strike({ type: 'partition', forMs: 1, mode: 'silent' })
    chaos.calm()
    call()
    await clock.advance(100)
    expect(events).toEqual(['0 commit', '0 ok'])
  })

  it('drops calls on their way when the store loses power, and answers them unknown-outcome', async () => {
    const { clock, call, carriage, events } = setUp()
    call()
    await clock.advance(1)
    carriage.losePower()
    await clock.advance(100)
    expect(events).toEqual(['0 unknown-outcome'])
  })

  it('sends the calls of a busy process when it is no longer busy', async () => {
    const { clock, call, gate, events } = setUp()
    gate.busy(500)
    call()
    await clock.advance(490)
    expect(events).toEqual([])
    await clock.advance(100)
    expect(events).toEqual(['0.5 commit', '0.5 ok'])
  })
})
