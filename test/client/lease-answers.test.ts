import { describe, expect, it } from 'vitest'
import { Client, type LeaseAnswer, type LeaseAnswered } from '../../src/client/index.js'
import { StoreError } from '../../src/error/index.js'
import { LeaseAnswers } from '../../src/front/remote/lease-answers.js'
import { type Clock, systemClock, VirtualClock } from '../../src/time/index.js'
import { during } from '../during.js'
import { until } from '../eventually.js'

interface Sent {
  readonly receipts: readonly string[]
  answer(results?: readonly LeaseAnswered[]): void
  fail(error: Error): void
}

/** Answers whose requests wait until the test answers them. */
function answersWith(turns?: Clock) {
  const sent: Sent[] = []
  const clock = new VirtualClock()
  const client = {
    answerLeases: (answers: readonly LeaseAnswer[]) =>
      new Promise<readonly LeaseAnswered[]>((resolve, reject) => {
        sent.push({
          receipts: answers.map(({ receipt }) => receipt),
          answer: (results = answers.map(() => ({ outcome: 'acked' }))) => resolve(results),
          fail: reject,
        })
      }),
  }
  const answers = new LeaseAnswers({ client, clock: turns ?? clock })
  const ack = (receipt: string): Promise<string> => answers.send({ do: 'ack', receipt })
  return { sent, clock, ack }
}

describe('the answers of a process for its leases', () => {
  it('share a request in one turn, and each gets its own outcome', async () => {
    // A turn of virtual time ends with the next promise, so this needs turns of the real event loop.
    const { sent, ack } = answersWith(systemClock)
    // The last one comes later in the turn, after a few promises.
    const last = Promise.resolve()
      .then(() => Promise.resolve())
      .then(() => ack('c'))
    const given = Promise.allSettled([ack('a'), ack('b'), last])
    await until('they are sent', () => sent.length > 0)
    expect(sent.map(({ receipts }) => receipts)).toEqual([['a', 'b', 'c']])
    const error = new StoreError('owner-unreachable', 'no answer')
    sent[0]!.answer([{ outcome: 'acked' }, { error }, { outcome: 'stale' }])
    expect(await given).toEqual([
      { status: 'fulfilled', value: 'acked' },
      { status: 'rejected', reason: error },
      { status: 'fulfilled', value: 'stale' },
    ])
  })

  it('wait while four requests are under way, and share the next one', async () => {
    const { sent, clock, ack } = answersWith()
    const given: Promise<string>[] = []
    for (let turn = 0; turn < 10; turn++) {
      given.push(ack(`r${turn}`))
      await clock.advance(0)
    }
    expect(sent.map(({ receipts }) => receipts)).toEqual([['r0'], ['r1'], ['r2'], ['r3']])
    sent[2]!.answer()
    await clock.advance(0)
    expect(sent.slice(4).map(({ receipts }) => receipts)).toEqual([['r4', 'r5', 'r6', 'r7', 'r8', 'r9']])
    for (const each of sent) each.answer()
    expect(await Promise.all(given)).toEqual(Array.from({ length: 10 }, () => 'acked'))
  })

  it('go in requests of at most 1,000', async () => {
    const { sent, clock, ack } = answersWith()
    const given = Array.from({ length: 2500 }, (_, index) => ack(`r${index}`))
    await clock.advance(0)
    expect(sent.map(({ receipts }) => receipts.length)).toEqual([1000, 1000, 500])
    for (const each of sent) each.answer()
    await Promise.all(given)
  })

  it('all fail if their request fails, and later ones are sent', async () => {
    const { sent, clock, ack } = answersWith()
    const first = Promise.allSettled([ack('a'), ack('b')])
    await clock.advance(0)
    sent[0]!.fail(new Error('gone'))
    expect((await first).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const second = ack('c')
    await clock.advance(0)
    sent[1]!.answer()
    expect(await second).toBe('acked')
  })
})

describe('answerLeases of a client', () => {
  it('sends only the rows again that failed for a temporary reason', async () => {
    const clock = new VirtualClock()
    const bodies: LeaseAnswer[][] = []
    const replies = [['acked', 'failed', 'refused', 'failed'], ['stale', 'failed'], ['extended']]
    const client = new Client('http://127.0.0.1:1', {
      clock,
      fetch: (_, init) => {
        bodies.push(JSON.parse(init!.body as string) as LeaseAnswer[])
        const rows = replies
          .shift()!
          .map((outcome) =>
            outcome === 'failed' || outcome === 'refused'
              ? { outcome, code: outcome === 'failed' ? 'owner-unreachable' : 'invalid-option', detail: 'x' }
              : { outcome },
          )
        return Promise.resolve(Response.json(rows))
      },
    })
    const results = await during(
      clock,
      client.answerLeases([
        { do: 'ack', receipt: 'a', again: { at: new Date(5) } },
        { do: 'ack', receipt: 'b' },
        { do: 'release', receipt: 'c', reason: 'no' },
        { do: 'extend', receipt: 'd', duration: '1m' },
      ]),
      100,
    )
    expect(results).toMatchObject([
      { outcome: 'acked' },
      { outcome: 'stale' },
      { error: { code: 'invalid-option' } },
      { outcome: 'extended' },
    ])
    expect(bodies[0]![0]).toEqual({ do: 'ack', receipt: 'a', again: { at: 5 } })
    expect(bodies.map((rows) => rows.map(({ receipt }) => receipt).join(''))).toEqual(['abcd', 'bd', 'd'])
  })

  it('gives the error of a request to each of its rows', async () => {
    const clock = new VirtualClock()
    const client = new Client('http://127.0.0.1:1', {
      clock,
      retries: 0,
      fetch: () => Promise.reject(new TypeError('fetch failed')),
    })
    const rows = ['a', 'b'].map((receipt): LeaseAnswer => ({ do: 'ack', receipt }))
    expect(await client.answerLeases(rows)).toMatchObject([
      { error: { code: 'server-unreachable' } },
      { error: { code: 'server-unreachable' } },
    ])
  })
})
