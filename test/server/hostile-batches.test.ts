import { setImmediate as turnEnd } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { Turns } from '../../src/async/index.js'
import { linesOf } from '../../src/server/http/lines.js'
import { systemClock } from '../../src/time/index.js'
import { TestServer } from './test-server.js'

/** Counts the turns of the event loop that pass until a call is answered. */
async function turnsOf(call: Promise<unknown>): Promise<number> {
  const state = { isOver: false }
  void call.finally(() => (state.isOver = true))
  for (let turns = 0; ; turns++) {
    if (state.isOver) return turns
    await turnEnd()
  }
}

describe('a batch with hostile rows', () => {
  it('checks few schedules in a turn, and no more after many that never match', async () => {
    await using served = await TestServer.start()
    const never = { type: 'rrule', rule: 'FREQ=DAILY;INTERVAL=7;BYDAY=SU', start: '0001-02-05T00:00' }
    const rows = Array.from({ length: 1000 }, (_, i) => ({ kind: 'a', key: `k${i}`, on: never }))
    const batch = served.call('POST', '/v1/batch', rows)
    expect(await turnsOf(batch)).toBeGreaterThanOrEqual(50)
    const codes = ((await batch).body as { code: string }[]).map(({ code }) => code)
    expect(codes.filter((code) => code === 'never-matches')).toHaveLength(100)
    expect(codes.filter((code) => code === 'schedule-budget')).toHaveLength(900)
  })

  it('sets rows with schedules in order', async () => {
    await using served = await TestServer.start()
    const rows = Array.from({ length: 100 }, (_, i) => ({ kind: 'a', key: 'same', on: `${i % 60} 9 * * *` }))
    const { body } = await served.call('POST', '/v1/batch', rows)
    const last = (body as { dueAt: number }[]).at(-1)!
    expect((await served.call('GET', '/v1/timers/a/same')).body.dueAt).toBe(last.dueAt)
  })

  it('looks at each piece of a line once, and gives others turns between the pieces', async () => {
    const split = vi.spyOn(String.prototype, 'split')
    const turns = new Turns(() => systemClock.turnEnd())
    async function* bytes(): AsyncGenerator<Buffer> {
      for (let at = 0; at < 20_000; at++) yield Buffer.from(at % 10_000 === 9999 ? '\n' : 'x')
      yield Buffer.from('é').subarray(0, 1)
      yield Buffer.concat([Buffer.from('é').subarray(1), Buffer.from('\n\nend')])
    }
    const lines: string[] = []
    const reading = (async () => {
      for await (const some of linesOf(bytes(), 100, turns)) lines.push(...some)
    })()
    expect(await turnsOf(reading)).toBeGreaterThanOrEqual(70)
    const splits = split.mock.calls.length
    split.mockRestore()
    expect(lines.map(({ length }) => length)).toEqual([9999, 9999, 1, 3])
    expect(splits).toBeLessThan(20)
  })
})
