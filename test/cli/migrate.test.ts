import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTimers, timer, type Timers } from '../../src/index.js'
import { eventually } from '../eventually.js'
import { PostgresPlace } from '../server/store-places.js'
import { FilePlace } from '../server/store-places.js'
import { spoken } from './spoken.js'

const place = new PostgresPlace()

beforeAll(() => place.start())
afterAll(() => place.stop())

const ring = timer<number>('ring')

describe('carillon migrate', () => {
  it('switches a store to claims and back, with all its timers, and each fires once', async () => {
    const fired: number[] = []
    const url = place.url
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
      expect(await spoken(['verify', '--store', url])).toMatchObject({
        code: 0,
        out: expect.stringMatching(/^whole/) as string,
      })
    }
    await (await place.open()).stop()
    await handled(async (timers) => {
      await timers.start()
      for (let n = 0; n < 3; n++) await timers.set(ring, `now${n}`, { in: 0, payload: n })
      await settled(3)
      await eventually(async () => expect((await timers.stats()).store.settled).toBe(3))
      for (let n = 10; n < 30; n++) await timers.set(ring, `later${n}`, { in: '1h', payload: n })
      await timers.cancel(ring, 'later29')
    })
    await verify()

    const dry = await spoken(['migrate', '--store', url, '--strategy', 'claim', '--dry-run'])
    expect([dry.code, dry.out]).toEqual([
      0,
      expect.stringMatching(
        /^version (\d+) of \1, strategy owned\nwould switch it from the strategy owned to claim\n$/,
      ),
    ])
    expect((await spoken(['migrate', '--store', url])).out).toContain('nothing to do')
    const done = await spoken(['migrate', '--store', url, '--strategy', 'claim', '--json'])
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

    expect((await spoken(['migrate', '--store', url, '--strategy', 'owned'])).err).toBe('')
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

  it('leaves no timer at the place where an owner had put it back to', async () => {
    const schema = new URL(place.url).searchParams.get('schema')!
    await using before = await openTimers({ store: place.url, alone: true })
    await before.set(ring, 'away', { in: 0, payload: 100 })
    await before.stop()
    await place.sql(`update "${schema}".timer set position = due_at + 600000 where key = 'away'`)
    expect((await spoken(['migrate', '--store', place.url, '--strategy', 'claim'])).err).toBe('')
    try {
      await using timers = await openTimers({ store: place.url })
      const fired: number[] = []
      timers.handle(ring, (firing) => void fired.push(firing.payload))
      await timers.start()
      await eventually(() => expect(fired).toEqual([100]))
    } finally {
      expect((await spoken(['migrate', '--store', place.url, '--strategy', 'owned'])).err).toBe('')
    }
  })

  it('takes the time that many timers take, however long', async () => {
    const schema = new URL(place.url).searchParams.get('schema')!
    await place.sql(`create function "${schema}".timed() returns trigger language plpgsql as $$ begin
        if current_setting('statement_timeout') <> '0' then
          raise exception 'given up after %', current_setting('statement_timeout');
        end if;
        return new;
      end $$;
      create trigger timed before update on "${schema}".store for each row execute function "${schema}".timed()`)
    try {
      for (const strategy of ['claim', 'owned']) {
        const { code, err } = await spoken(['migrate', '--store', place.url, '--strategy', strategy])
        expect([code, err]).toEqual([0, ''])
      }
    } finally {
      await place.sql(`drop trigger timed on "${schema}".store; drop function "${schema}".timed()`)
    }
  })

  it('refuses a store that an instance has open', async () => {
    await using timers = await openTimers({ store: place.url })
    await timers.start()
    const { code, err } = await spoken(['migrate', '--store', place.url, '--strategy', 'claim'])
    expect([code, err]).toEqual([1, expect.stringMatching(/1 instances are alive.*\(store-in-use\)/)])
  })

  it('says what it cannot do: another kind of store, none at all, no store named', async () => {
    const file = new FilePlace()
    await file.start()
    try {
      expect((await spoken(['migrate', '--store', file.url])).err).toContain('there is no store to migrate')
      const store = await file.open()
      expect((await spoken(['migrate', '--store', file.url])).err).toContain('(store-in-use)')
      await store.stop()
      expect((await spoken(['migrate', '--store', file.url])).out).toContain('nothing to do')
      const other = await spoken(['migrate', '--store', file.url, '--strategy', 'claim'])
      expect([other.code, other.err]).toEqual([1, expect.stringContaining('(wrong-strategy)')])
    } finally {
      await file.stop()
    }
    expect((await spoken(['migrate'])).err).toContain('name a --store')
    expect((await spoken(['migrate', '--store', place.url, '--strategy', 'both'])).code).toBe(1)
  })

  it('is what a refused strategy points to', async () => {
    const opening = openTimers({ store: place.url, engine: { strategy: 'claim' } })
    await expect(opening).rejects.toThrow('carillon migrate --strategy claim --store')
  })
})
