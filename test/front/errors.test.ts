import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { CarillonError } from '../../src/error/index.js'
import { type StandardSchema, timer } from '../../src/front/index.js'
import { cron, daily } from '../../src/schedule/index.js'
import { type TestTimers, testTimers } from '../../src/testing/index.js'

const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
const START = Date.UTC(2026, 0, 1)
const kind = timer('kind')
const positive: StandardSchema<number> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof value === 'number' && value > 0 ? { value } : { issues: [{ message: 'must be above 0' }] },
  },
}

/** Wrong calls, with the error code and what the message must contain. */
const mistakes: readonly (readonly [
  what: string,
  code: string,
  says: RegExp,
  call: (timers: TestTimers) => unknown,
])[] = [
  ['an unknown kind', 'unknown-kind', /"knid".*known kinds: kind/, (timers) => timers.list({ kind: 'knid' })],
  [
    'something that is no kind',
    'unknown-kind',
    /timer\('name'\)/,
    (timers) => timers.set('kind' as never, 'a', { in: 1 }),
  ],
  [
    'a payload that its schema refuses',
    'payload-refused',
    /kind "checked".*above 0/,
    (timers) => timers.set(timer('checked', { payload: positive }), 'a', { in: 1, payload: -1 }),
  ],
  [
    'a bad zone',
    'invalid-zone',
    /Mars\/Olympus/,
    (timers) => timers.set(kind, 'a', { on: daily({ at: '09:00', zone: 'Mars/Olympus' }) }),
  ],
  ['a bad cron', 'invalid-cron', /61/, (timers) => timers.set(kind, 'a', { on: cron('61 * * * *') })],
  [
    'an until in the past',
    'schedule-ended',
    /no more occurrences/,
    (timers) => timers.set(kind, 'a', { on: daily({ at: '09:00', zone: 'UTC', until: START - 1 }) }),
  ],
  [
    'a key that is too long',
    'invalid-key',
    /512 bytes.*this one has 513/,
    (timers) => timers.set(kind, 'k'.repeat(513), { in: 1 }),
  ],
  [
    'a key that is too long in bytes but not in characters',
    'invalid-key',
    /512 bytes.*this one has 514/,
    (timers) => timers.set(kind, 'é'.repeat(257), { in: 1 }),
  ],
  [
    'a stopped instance',
    'stopped',
    /stopped/,
    async (timers) => {
      await timers.stop()
      await timers.set(kind, 'b', { in: 1 })
    },
  ],
]

describe('a wrong call', () => {
  it.each(mistakes)(
    'with %s fails with the documented code %s and sets nothing',
    async (_, code, says, call) => {
      await using timers = await testTimers({ start: START })
      await timers.set(kind, 'there', { in: '1h' })
      const error: unknown = await (async () => await call(timers))().then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      expect(error).toBeInstanceOf(CarillonError)
      expect(error).toMatchObject({ code, message: expect.stringMatching(says) })
      expect(page).toMatch(new RegExp(`^\\| \`${code}\` `, 'm'))
      if (code !== 'stopped') expect((await timers.list()).items.map(({ key }) => key)).toEqual(['there'])
    },
  )
})
