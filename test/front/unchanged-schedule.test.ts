import { describe, expect, it } from 'vitest'
import { openTimers, type SetOptions, timer, type Timers } from '../../src/front/index.js'
import type { Kinds } from '../../src/front/kind/kinds.js'
import type { Diagnosis } from '../../src/front/diagnose/diagnosis.js'
import type { Outcomes } from '../../src/front/read/outcomes.js'
import type { TimerLists } from '../../src/front/read/timer-lists.js'
import { Records } from '../../src/front/read/records.js'
import { cron, daily, type Schedule } from '../../src/schedule/index.js'
import { MemoryStore, type Store } from '../../src/store/index.js'
import { VirtualClock } from '../../src/time/index.js'
import type { RetryOptions } from '../../src/timer/index.js'
import { during } from '../during.js'

const START = Date.UTC(2026, 0, 1, 8)
const NINE = Date.UTC(2026, 0, 1, 9)
const HOUR = 3_600_000
const report = timer<{ to: string }>('report')
const other = timer('other')

interface Fired {
  readonly key: string
  readonly dueAt: number
  readonly payload: { readonly to: string }
}

/** Deploys of one program: each opens timers on the same store, sets its schedules, and starts. */
class Deploys {
  readonly clock = new VirtualClock({ start: START })
  readonly store: MemoryStore
  readonly fired: Fired[] = []
  /** How many store calls there were, by name. */
  readonly calls: Record<string, number> = {}
  /** What the answer to a `find` of this store waits for. */
  findsWaitFor: Promise<unknown> = Promise.resolve()

  constructor(options: ConstructorParameters<typeof MemoryStore>[0] = {}) {
    this.store = new MemoryStore({ clock: this.clock, ...options })
  }

  /** Opens timers and starts them. */
  async started(): Promise<Timers> {
    const timers = await this.open()
    await this.during(timers.start())
    return timers
  }

  async open(): Promise<Timers> {
    const strategy = this.store.mode === 'claim' ? 'claim' : undefined
    const timers = await this.during(
      openTimers({
        store: this.#counted(),
        clock: this.clock,
        history: 'all',
        ...(strategy !== undefined && { engine: { strategy } }),
      }),
    )
    timers.handle(report, ({ key, dueAt, payload }) => {
      this.fired.push({ key, dueAt, payload })
    })
    return timers
  }

  during<Answer>(work: Promise<Answer>): Promise<Answer> {
    return during(this.clock, work, 10)
  }

  async to(instant: number): Promise<void> {
    await this.clock.advance(instant - this.clock.now())
  }

  #counted(): Store {
    const store: Store = this.store.connect()
    return new Proxy<Store>(store, {
      get: (_, property: keyof Store) => {
        const value = store[property]
        if (typeof value !== 'function') return value
        const call = (value as (...args: unknown[]) => unknown).bind(store)
        return (...args: unknown[]) => {
          this.calls[property] = (this.calls[property] ?? 0) + 1
          const answer = call(...args)
          return property === 'find' ? this.findsWaitFor.then(() => answer) : answer
        }
      },
    })
  }
}

const at9 = (more: Partial<SetOptions<{ to: string }>> = {}): SetOptions<{ to: string }> =>
  ({ on: cron('0 9 * * *'), payload: { to: 'all' }, ...more }) as SetOptions<{ to: string }>

describe('a schedule that is set again unchanged', () => {
  it('keeps an occurrence that was missed during a deploy, if it is set before start', async () => {
    const deploys = new Deploys()
    const first = await deploys.started()
    const set = await deploys.during(first.set(report, 'daily', at9()))
    expect(set).toMatchObject({ outcome: 'set', dueAt: NINE })
    await deploys.during(first.stop())
    await deploys.to(NINE + 60_000)
    const second = await deploys.open()
    const again = await deploys.during(second.set(report, 'daily', at9()))
    expect(again).toMatchObject({ outcome: 'unchanged', key: 'daily', dueAt: NINE, handle: set.handle })
    await deploys.during(second.start())
    await deploys.to(NINE + 120_000)
    expect(deploys.fired).toEqual([{ key: 'daily', dueAt: NINE, payload: { to: 'all' } }])
    await deploys.to(NINE + 24 * HOUR + 60_000)
    expect(deploys.fired).toHaveLength(2)
    await deploys.during(second.stop())
  })

  it('keeps an occurrence that was missed while no worker was up, although no owner has stored it yet', async () => {
    const deploys = new Deploys()
    const first = await deploys.open()
    const set = await deploys.during(first.set(report, 'daily', at9()))
    await deploys.during(first.stop())
    await deploys.to(NINE + 60_000)
    const second = await deploys.open()
    const again = await deploys.during(second.set(report, 'daily', at9()))
    expect(again).toMatchObject({ outcome: 'unchanged', dueAt: NINE, handle: set.handle })
    await deploys.during(second.start())
    await deploys.to(NINE + 120_000)
    expect(deploys.fired).toEqual([{ key: 'daily', dueAt: NINE, payload: { to: 'all' } }])
    await deploys.during(second.stop())
  })

  it('leaves the row with its identity, due time and revision, and adds nothing to the history', async () => {
    const deploys = new Deploys()
    const timers = await deploys.started()
    const set = await deploys.during(timers.set(report, 'daily', at9({ tags: ['b', 'a'] })))
    await deploys.to(START + 60_000)
    const again = await deploys.during(timers.set(report, 'daily', at9({ tags: ['a', 'b'] })))
    expect(again).toEqual({ ...set, outcome: 'unchanged', revision: expect.any(Number) as number })
    const view = await deploys.during(timers.get(report, 'daily'))
    expect(view).toMatchObject({ createdAt: START, revision: again.revision, handle: set.handle })
    const { items } = await deploys.during(timers.history({ kind: report, key: 'daily' }))
    expect(items.map(({ event }) => event)).toEqual(['created'])
    await deploys.during(timers.stop())
  })

  const changes: Readonly<Record<string, SetOptions<{ to: string }>>> = {
    'another expression': at9({ on: cron('30 9 * * *') }),
    'another zone': at9({ on: cron('0 9 * * *', { zone: 'Europe/Paris' }) }),
    'another kind of schedule': at9({ on: daily({ at: '09:00' }) }),
    'another payload': at9({ payload: { to: 'some' } }),
    'a tag': at9({ tags: ['vip'] }),
    'a retry policy': at9({ retry: { attempts: 3 } }),
    'one due time instead of a schedule': { at: NINE, payload: { to: 'all' } },
  }
  for (const [name, options] of Object.entries(changes)) {
    it(`is replaced by a set with ${name}`, async () => {
      const deploys = new Deploys()
      const timers = await deploys.started()
      const set = await deploys.during(timers.set(report, 'daily', at9()))
      const changed = await deploys.during(timers.set(report, 'daily', options))
      expect(changed.outcome).toBe('set')
      expect(changed.handle).not.toBe(set.handle)
      const kept = await deploys.during(timers.set(report, 'daily', options))
      expect(kept.outcome).toBe(options.on === undefined ? 'set' : 'unchanged')
      await deploys.during(timers.stop())
    })
  }

  it('is unchanged with the same retry policy in other words', async () => {
    const deploys = new Deploys()
    const timers = await deploys.started()
    const of = (retry: RetryOptions) => timers.set(report, 'daily', at9({ retry }))
    await deploys.during(of({ attempts: 3, maxDuration: '1h' }))
    expect((await deploys.during(of({ maxDuration: HOUR, attempts: 3 }))).outcome).toBe('unchanged')
    expect((await deploys.during(of({ maxDuration: HOUR, attempts: 4 }))).outcome).toBe('set')
    await deploys.during(timers.stop())
  })

  it('is compared also while it is retried, moved or paused, and stays so', async () => {
    const deploys = new Deploys()
    const timers = await deploys.started()
    timers.handle(other, () => {
      throw new Error('no')
    })
    const [on, retry] = [cron('0 * * * *'), { attempts: 5, backoff: '10m..10m' }]
    const rows = ['retried', 'moved', 'paused'].map((key) => ({ key, on, retry }))
    await deploys.during(timers.setMany(other, rows))
    await deploys.during(timers.move(other, 'moved', { in: '59m' }))
    await deploys.during(timers.pause(other, 'paused'))
    await deploys.to(NINE + 2000)
    const states = async () => await deploys.during(timers.list({ kind: other }))
    const before = await states()
    expect(before.items.map(({ key, attempts, state }) => `${key} ${attempts} ${state}`).toSorted()).toEqual([
      'moved 1 waiting',
      'paused 0 paused',
      'retried 1 waiting',
    ])
    const again = await deploys.during(timers.setMany(other, rows))
    expect(again.map(({ outcome }) => outcome)).toEqual(['unchanged', 'unchanged', 'unchanged'])
    expect(await states()).toEqual(before)
    await deploys.during(timers.stop())
  })

  it('meets its condition: a wrong revision is a conflict, the right one changes nothing', async () => {
    const deploys = new Deploys()
    const timers = await deploys.started()
    await deploys.during(timers.set(report, 'daily', at9()))
    const { revision } = (await deploys.during(timers.get(report, 'daily')))!
    const outcomeOf = async (more: Partial<SetOptions<{ to: string }>>): Promise<string> =>
      (await deploys.during(timers.set(report, 'daily', at9(more)))).outcome
    expect(await outcomeOf({ ifRevision: revision })).toBe('unchanged')
    expect(await outcomeOf({ ifRevision: revision + 1 })).toBe('conflict')
    expect(await outcomeOf({ ifAbsent: true })).toBe('conflict')
    await deploys.during(timers.stop())
  })

  it('is found among many rows with one read, and only changed rows are written', async () => {
    const deploys = new Deploys()
    const timers = await deploys.started()
    const rows = (expressionOf: (index: number) => Schedule) =>
      Array.from({ length: 100 }, (_, index) => ({
        key: `k${index}`,
        on: expressionOf(index),
        payload: { to: `${index}` },
      }))
    await deploys.during(
      timers.setMany(
        report,
        rows(() => cron('0 9 * * *')),
      ),
    )
    const finds = deploys.calls['find'] ?? 0
    const { operations } = timers.engine.stats().counts
    const again = await deploys.during(
      timers.setMany(
        report,
        rows((index) => cron(index % 10 === 0 ? '5 9 * * *' : '0 9 * * *')),
      ),
    )
    expect(again.map(({ outcome }) => outcome)).toEqual(
      Array.from({ length: 100 }, (_, index) => (index % 10 === 0 ? 'set' : 'unchanged')),
    )
    expect(again.at(10)).toMatchObject({ key: 'k10', dueAt: NINE + 300_000 })
    expect(again.at(11)).toMatchObject({ key: 'k11', dueAt: NINE })
    expect((deploys.calls['find'] ?? 0) - finds).toBe(1)
    expect(timers.engine.stats().counts.operations - operations).toBe(10)
    await deploys.during(timers.stop())
  })

  it('is compared with the row before it in the same call, if that has the same key', async () => {
    const deploys = new Deploys()
    const timers = await deploys.started()
    await deploys.during(timers.set(report, 'daily', at9()))
    const [nine, ten] = [cron('0 9 * * *'), cron('0 10 * * *')]
    const payload = { to: 'all' }
    const setAll = async (...schedules: readonly Schedule[]): Promise<string[]> => {
      const rows = schedules.map((on) => ({ key: 'daily', on, payload }))
      return (await deploys.during(timers.setMany(report, rows))).map(({ outcome }) => outcome)
    }
    expect(await setAll(nine, nine)).toEqual(['unchanged', 'unchanged'])
    expect(await setAll(ten, nine)).toEqual(['set', 'set'])
    expect((await deploys.during(timers.get(report, 'daily')))!.dueAt).toBe(NINE)
    expect(await setAll(nine, ten)).toEqual(['unchanged', 'set'])
    expect((await deploys.during(timers.get(report, 'daily')))!.dueAt).toBe(NINE + HOUR)
    await deploys.during(timers.stop())
  })

  it('costs sets of one due time no read', async () => {
    const deploys = new Deploys()
    const timers = await deploys.started()
    await deploys.during(timers.set(other, 'a', { in: '1h' }))
    await deploys.during(
      timers.setMany(
        other,
        Array.from({ length: 50 }, (_, index) => ({ key: `k${index}`, in: '1h', tags: ['t'] })),
      ),
    )
    await deploys.during(
      timers.setMany(
        other,
        Array.from({ length: 50 }, () => ({ in: '1h' })),
      ),
    )
    expect(deploys.calls['find'] ?? 0).toBe(0)
    await deploys.during(timers.stop())
  })

  it('keeps the order of calls that are not awaited', async () => {
    const deploys = new Deploys()
    const timers = await deploys.started()
    await deploys.during(timers.set(other, 'warm', { in: '1h' }))
    const onNine = { on: cron('0 9 * * *') }
    const cancelled = [timers.set(other, 'a', onNine), timers.cancel(other, 'a')]
    const replaced = [timers.set(other, 'b', onNine), timers.set(other, 'b', { in: '5h' })]
    const moved = [timers.set(other, 'c', onNine), timers.move(other, 'c', { in: '6h' })]
    const plain = Array.from({ length: 20 }, (_, index) => ({ key: `d${index}`, in: '7h' }))
    const columns = [timers.set(other, 'd3', onNine), timers.setMany(other, plain)]
    await deploys.during(Promise.all([...cancelled, ...replaced, ...moved, ...columns]))
    const dueAtOf = async (key: string) => (await deploys.during(timers.get(other, key)))?.dueAt
    expect(await cancelled[1]).toBe('cancelled')
    expect(await dueAtOf('a')).toBeUndefined()
    expect(await dueAtOf('b')).toBe(START + 5 * HOUR)
    expect(await moved[1]).toBe('moved')
    expect(await dueAtOf('c')).toBe(START + 6 * HOUR)
    expect(await dueAtOf('d3')).toBe(START + 7 * HOUR)
    await deploys.during(timers.stop())
  })

  it('takes effect when its row is read: a change at the same time comes after it', async () => {
    const deploys = new Deploys()
    const timers = await deploys.started()
    await deploys.during(timers.set(report, 'daily', at9()))
    const web = await deploys.open()
    let answerFinds = (): void => undefined
    deploys.findsWaitFor = new Promise<void>((resolve) => (answerFinds = resolve))
    const unchanged = web.set(report, 'daily', at9())
    await deploys.clock.advance(0)
    deploys.findsWaitFor = Promise.resolve()
    const changed = await deploys.during(timers.set(report, 'daily', at9({ on: cron('0 10 * * *') })))
    answerFinds()
    expect((await deploys.during(unchanged)).outcome).toBe('unchanged')
    const view = await deploys.during(timers.get(report, 'daily'))
    expect(view).toMatchObject({ handle: changed.handle, dueAt: NINE + HOUR })
    // A set that begins now sees that change, and replaces it.
    expect((await deploys.during(timers.set(report, 'daily', at9()))).outcome).toBe('set')
    await deploys.during(Promise.all([timers.stop(), web.stop()]))
  })

  it('does not count as there once it is done here, although the store has its row until the settlement', async () => {
    const names = ['done', 'firing', 'none'].map((key) => ({ namespace: 'default', kind: 'report', key }))
    const rows = names.map((name) => (name.key === 'none' ? undefined : { ...name, revision: 1 }))
    const engine = {
      progressOf: ({ key }: { key: string }) => (key === 'done' ? 'over' : 'firing'),
      applyAcknowledged: () => Promise.resolve(),
    }
    const records = new Records({
      engine: engine as unknown as Timers['engine'],
      store: { find: () => Promise.resolve(rows) } as unknown as Store,
      namespace: 'default',
      kinds: {} as Kinds,
      outcomes: {} as Outcomes,
      diagnosis: {} as Diagnosis,
      lists: {} as TimerLists,
    })
    expect(await records.current(names)).toEqual([undefined, rows[1], undefined])
  })

  it('stays as it is with the strategy claim, too', async () => {
    const deploys = new Deploys({ strategy: 'claim' })
    const first = await deploys.started()
    await deploys.during(first.set(report, 'daily', at9()))
    await deploys.during(first.stop())
    await deploys.to(NINE + 60_000)
    const second = await deploys.open()
    expect((await deploys.during(second.set(report, 'daily', at9()))).outcome).toBe('unchanged')
    await deploys.during(second.start())
    await deploys.to(NINE + 120_000)
    expect(deploys.fired).toEqual([{ key: 'daily', dueAt: NINE, payload: { to: 'all' } }])
    await deploys.during(second.stop())
  })
})
