import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTimers, timer, type Timers } from '../../src/index.js'
import { eventually } from '../eventually.js'
import { PostgresFixture } from '../server/store-fixtures.js'
import { FileFixture } from '../server/store-fixtures.js'
import { runCli } from './run-cli.js'

const fixture = new PostgresFixture()

beforeAll(() => fixture.start())
afterAll(() => fixture.stop())

const ring = timer<number>('ring')

describe('carillon migrate', () => {
  it('switches a store to claim and back with all its timers, and each timer fires once', async () => {
    const fired: number[] = []
    const { url } = fixture
    const handled = async (use: (timers: Timers) => Promise<void>) => {
      await using timers = await openTimers({
        store: url,
        engine: { acquireMs: 50, heartbeatMs: 50 },
      })
      timers.handle(ring, (firing) => void fired.push(firing.payload))
      await use(timers)
    }
    const settled = async (count: number): Promise<void> => {
      await eventually(() => expect(fired.toSorted((a, b) => a - b)).toEqual([...Array(count).keys()]))
    }
    const verify = async (): Promise<void> => {
      expect(await runCli(['verify', '--store', url])).toMatchObject({
        code: 0,
        out: expect.stringMatching(/^whole/) as string,
      })
    }
    await (await fixture.open()).stop()
    await handled(async (timers) => {
      await timers.start()
      for (let n = 0; n < 3; n++) await timers.set(ring, `now${n}`, { in: 0, payload: n })
      await settled(3)
      await eventually(async () => expect((await timers.stats()).store.settled).toBe(3))
      for (let n = 10; n < 30; n++) await timers.set(ring, `later${n}`, { in: '1h', payload: n })
      await timers.cancel(ring, 'later29')
    })
    await verify()

    const dry = await runCli(['migrate', '--store', url, '--strategy', 'claim', '--dry-run'])
    expect([dry.code, dry.out]).toEqual([
      0,
      expect.stringMatching(
        /^version (\d+) of \1, strategy owned\nwould switch it from the strategy owned to claim\n$/,
      ),
    ])
    expect((await runCli(['migrate', '--store', url])).out).toContain('nothing to do')
    const done = await runCli(['migrate', '--store', url, '--strategy', 'claim', '--json'])
    expect([done.err, JSON.parse(done.out)]).toEqual([
      '',
      expect.objectContaining({ strategy: 'owned', isDryRun: false }),
    ])
    await verify()

    await handled(async (timers) => {
      expect(timers.engine.settings.strategy).toBe('claim')
      await timers.start()
      await timers.set(ring, 'now3', { in: 0, payload: 3 })
      await timers.move(ring, 'later10', { in: '2h' })
      await timers.set(ring, 'later11', { in: '1h', payload: 11 })
      await settled(4)
      await eventually(async () => expect((await timers.stats()).store.settled).toBe(4))
    })
    await verify()

    expect((await runCli(['migrate', '--store', url, '--strategy', 'owned'])).err).toBe('')
    await verify()
    await handled(async (timers) => {
      await timers.start()
      await timers.set(ring, 'now4', { in: 0, payload: 4 })
      await settled(5)
      for (let n = 10; n < 29; n++) expect(await timers.get(ring, `later${n}`)).toMatchObject({ payload: n })
      expect(await timers.cancel(ring, 'later12')).toBe('cancelled')
      await eventually(async () => expect((await timers.stats()).store.settled).toBe(5))
      expect((await timers.stats()).store).toMatchObject({ created: 26, cancelled: 2, replaced: 1 })
    })
    await verify()
    expect(fired).toHaveLength(5)
  })

  it('resets the position of a timer that its owner had put back', async () => {
    const schema = new URL(fixture.url).searchParams.get('schema')!
    await using before = await openTimers({ store: fixture.url, alone: true })
    await before.set(ring, 'away', { in: 0, payload: 100 })
    await before.stop()
    await fixture.sql(`update "${schema}".timer set position = due_at + 600000 where key = 'away'`)
    expect((await runCli(['migrate', '--store', fixture.url, '--strategy', 'claim'])).err).toBe('')
    try {
      await using timers = await openTimers({ store: fixture.url })
      const fired: number[] = []
      timers.handle(ring, (firing) => void fired.push(firing.payload))
      await timers.start()
      await eventually(() => expect(fired).toEqual([100]))
    } finally {
      expect((await runCli(['migrate', '--store', fixture.url, '--strategy', 'owned'])).err).toBe('')
    }
  })

  it('runs without a statement timeout, because a large store takes long', async () => {
    const schema = new URL(fixture.url).searchParams.get('schema')!
    await fixture.sql(`create function "${schema}".timed() returns trigger language plpgsql as $$ begin
        if current_setting('statement_timeout') <> '0' then
          raise exception 'given up after %', current_setting('statement_timeout');
        end if;
        return new;
      end $$;
      create trigger timed before update on "${schema}".store for each row execute function "${schema}".timed()`)
    try {
      for (const strategy of ['claim', 'owned']) {
        const { code, err } = await runCli(['migrate', '--store', fixture.url, '--strategy', strategy])
        expect([code, err]).toEqual([0, ''])
      }
    } finally {
      await fixture.sql(`drop trigger timed on "${schema}".store; drop function "${schema}".timed()`)
    }
  })

  it('refuses a store that a running instance uses', async () => {
    await using timers = await openTimers({ store: fixture.url })
    await timers.start()
    const { code, err } = await runCli(['migrate', '--store', fixture.url, '--strategy', 'claim'])
    expect([code, err]).toEqual([1, expect.stringMatching(/1 instances are alive.*\(store-in-use\)/)])
  })

  it('refuses a missing store, a store in use, a strategy that the store lacks, and no --store', async () => {
    const file = new FileFixture()
    await file.start()
    try {
      expect((await runCli(['migrate', '--store', file.url])).err).toContain('there is no store to migrate')
      const store = await file.open()
      expect((await runCli(['migrate', '--store', file.url])).err).toContain('(store-in-use)')
      await store.stop()
      expect((await runCli(['migrate', '--store', file.url])).out).toContain('nothing to do')
      const other = await runCli(['migrate', '--store', file.url, '--strategy', 'claim'])
      expect([other.code, other.err]).toEqual([1, expect.stringContaining('(wrong-strategy)')])
    } finally {
      await file.stop()
    }
    expect((await runCli(['migrate'])).err).toContain('missing --store')
    expect((await runCli(['migrate', '--store', fixture.url, '--strategy', 'both'])).code).toBe(2)
  })

  it('is named by the error for a wrong strategy', async () => {
    const opening = openTimers({ store: fixture.url, engine: { strategy: 'claim' } })
    await expect(opening).rejects.toThrow('carillon migrate --strategy claim --store')
  })
})
