import { describe, expect, it } from 'vitest'
import type { Client, LeaseAnswer, LeasedTimer } from '../../src/client/index.js'
import { handlerOf } from '../../src/front/deliver/handler-of.js'
import { timer, type TimersEvent } from '../../src/front/index.js'
import { Listeners } from '../../src/front/event/listeners.js'
import { RemoteWorkers } from '../../src/front/remote/remote-workers.js'
import { VirtualClock } from '../../src/time/index.js'
import { handleOf } from '../../src/timer/index.js'
import { during } from '../during.js'

const LEASE_MS = 300
const encode = timer('encode')

/** Workers of a server that leases one firing and records the answers for it. */
function workersOf(outcomeOf: (answer: LeaseAnswer, at: number) => 'acked' | 'extended' | 'stale') {
  const clock = new VirtualClock()
  const name = { namespace: 'default', kind: 'encode', key: 'film' }
  const leased = {
    ...name,
    id: 'encode/film/1',
    receipt: 'one.1',
    handle: handleOf({ ...name, identity: 1 }),
    payload: undefined,
    tags: [],
    dueAt: 0,
    firedAt: 0,
    leaseUntil: LEASE_MS,
    attempt: 1,
    occurrence: 0,
  }
  const toLease: LeasedTimer[] = [leased]
  const answers: { readonly at: number; readonly do: string }[] = []
  const client = {
    getTarget: () => Promise.resolve({ kind: 'encode', version: 1, type: 'lease' }),
    lease: (_: string, { signal }: { signal: AbortSignal }) =>
      toLease.length > 0
        ? Promise.resolve(toLease.splice(0))
        : new Promise((_resolve, reject) => signal.addEventListener('abort', reject)),
    answerLeases: (given: readonly LeaseAnswer[]) => {
      const at = clock.monotonic()
      answers.push(...given.map((answer) => ({ at, do: answer.do })))
      return Promise.resolve(given.map((answer) => ({ outcome: outcomeOf(answer, at) })))
    },
  }
  const events: TimersEvent[] = []
  const workers = new RemoteWorkers({
    client: client as unknown as Client,
    clock,
    random: () => 0.5,
    listeners: new Listeners((event) => events.push(event)),
    leaseMs: LEASE_MS,
  })
  return { workers, clock, answers, events }
}

describe('a firing that a process has leased from a server', () => {
  it('keeps its lease while the handler runs, and is acked when the handler ends', async () => {
    const { workers, clock, answers } = workersOf((answer) => (answer.do === 'ack' ? 'acked' : 'extended'))
    const one = (): Promise<void> =>
      new Promise((resolve) => {
        clock.wakeAfter(1500, resolve)
      })
    workers.add({ ...handlerOf(encode), one, many: undefined })
    await during(clock, workers.start(), 1)
    const from = clock.monotonic()
    await clock.advance(2000)
    expect(answers.at(-1)).toEqual({ at: expect.any(Number) as number, do: 'ack' })
    const extended = answers.filter((answer) => answer.do === 'extend').map(({ at }) => at)
    expect(answers).toHaveLength(extended.length + 1)
    // Each extension comes well before the lease ends.
    const gaps = [...extended, from + 1500].map((at, index) => at - (extended[index - 1] ?? from))
    expect(Math.max(...gaps)).toBeLessThan(LEASE_MS * 0.7)
    await during(clock, workers.stop(), 10)
  })

  it('is aborted and not acked when an extension finds its lease ended', async () => {
    const { workers, clock, answers, events } = workersOf((_, at) => (at > 500 ? 'stale' : 'extended'))
    let reason: unknown
    workers.add({
      ...handlerOf(encode),
      one: ({ signal }) =>
        new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason
            resolve()
          })
        }),
      many: undefined,
    })
    await during(clock, workers.start(), 1)
    await clock.advance(2000)
    expect(reason).toMatchObject({ code: 'lease-ended' })
    expect(events.map(({ type }) => type)).toContain('lease-lost')
    expect(new Set(answers.map((answer) => answer.do))).toEqual(new Set(['extend']))
    await during(clock, workers.stop(), 10)
  })
})
