import { describe, expect, it } from 'vitest'
import { CarillonError, PartialError } from '../../src/error/index.js'
import {
  type CallOptions,
  openTimers,
  timer,
  type Timers,
  type TimersOptions,
} from '../../src/front/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { during } from '../during.js'
import { DownStore } from './down-store.js'

const kind = timer<number>('kind')

/** Timers on a store that can be away, in virtual time. */
class Rig {
  readonly clock = new VirtualClock()
  readonly down: DownStore
  timers!: Timers

  constructor(options: { readonly shardCount?: number; readonly strategy?: 'claim' } = {}) {
    this.down = new DownStore(this.clock, { shardCount: 1, ...options })
  }

  async open(options: Omit<Partial<TimersOptions>, 'store'> = {}): Promise<this> {
    const { clock } = this
    this.timers = await this.during(
      openTimers({ store: this.down.store, clock, logger: false, alone: true, ...options }),
    )
    await this.during(this.timers.set(kind, 'there', { in: '1h', payload: 1 }))
    return this
  }

  during<Answer>(work: Promise<Answer>): Promise<Answer> {
    return during(this.clock, work, 20)
  }

  /** How a call ends, and after how many milliseconds of virtual time. */
  async ending(call: () => Promise<unknown>): Promise<{ readonly error: unknown; readonly afterMs: number }> {
    const begunAt = this.clock.monotonic()
    let afterMs = NaN
    const ended = call().then(
      () => undefined,
      (error: unknown) => error,
    )
    const error = await this.during(ended.finally(() => (afterMs = this.clock.monotonic() - begunAt)))
    return { error, afterMs }
  }
}

/** Every call of the front door that may ask the store. */
const calls: Readonly<Record<string, (timers: Timers, options?: CallOptions) => Promise<unknown>>> = {
  set: (timers, options) => timers.set(kind, 'a', { in: '1h', payload: 1 }, options),
  'set with a condition': (timers, options) =>
    timers.set(kind, 'a', { in: '1h', payload: 1, ifAbsent: true }, options),
  setMany: (timers, options) =>
    timers.setMany(
      kind,
      Array.from({ length: 30 }, (_, n) => ({ key: `k${n}`, in: '1h', payload: n })),
      options,
    ),
  move: (timers, options = {}) => timers.move(kind, 'there', { in: '2h' }, options),
  cancel: (timers, options = {}) => timers.cancel(kind, 'there', options),
  fireNow: (timers, options = {}) => timers.fireNow(kind, 'there', options),
  moveMany: (timers, options = {}) =>
    timers.moveMany({ kind, keys: ['there', 'other'] }, { in: '2h' }, options),
  cancelMany: (timers, options = {}) => timers.cancelMany({ kind, keys: ['there', 'other'] }, options),
  'cancelMany by query': (timers, options = {}) => timers.cancelMany({ keyPrefix: 't' }, options),
  'pause of a timer': (timers, options) => timers.pause(kind, 'there', options),
  'resume of a timer': (timers, options) => timers.resume(kind, 'there', options),
  'pause of a kind': (timers, options) => timers.pause(kind, undefined, options),
  'resume of all kinds': (timers, options) => timers.resume(undefined, undefined, options),
  get: (timers, options = {}) => timers.get(kind, 'there', options),
  list: (timers, options) => timers.list({}, options),
  forecast: (timers, options) => timers.forecast({}, options),
  history: (timers, options) => timers.history({}, options),
  why: (timers, options) => timers.why(kind, 'there', options),
  dead: (timers, options) => timers.dead({}, options),
  redrive: (timers, options) => timers.redrive({}, options),
  stats: (timers, options) => timers.stats(options),
  kinds: (timers, options) => timers.kinds(options),
  setQuota: (timers, options) => timers.setQuota({ maxTimers: 5 }, options),
  getQuota: (timers, options) => timers.getQuota(options),
  setTarget: (timers, options) => timers.setTarget('other', { type: 'lease' }, options),
  getTarget: (timers, options) => timers.getTarget(kind, options),
  listTargets: (timers, options) => timers.listTargets(options),
  removeTarget: (timers, options) => timers.removeTarget(kind, options),
  lease: (timers, options) =>
    timers.lease('unknown', options?.timeout === undefined ? {} : { timeout: options.timeout }),
  within: (timers, options) => timers.within('elsewhere', options),
}

describe('a call while the store does not answer', () => {
  it.each(Object.keys(calls))('ends after its timeout and says what happened: %s', async (name) => {
    const rig = await new Rig().open()
    rig.down.hang()
    const { error, afterMs } = await rig.ending(() => calls[name]!(rig.timers, { timeout: 700 }))
    expect(error).toBeInstanceOf(CarillonError)
    expect((error as CarillonError).code).toMatch(/^(?:not-done|unknown-outcome|partly-done)$/)
    expect((error as CarillonError).message).toMatch(/nothing happened|may have happened/)
    // An operation waits for its turn among the calls of its shard, which may be at its end.
    expect(afterMs).toBeGreaterThanOrEqual(700)
    expect(afterMs).toBeLessThan(1100)
  })

  it('ends after ten seconds by default, or after `callTimeout`', async () => {
    const rig = await new Rig().open()
    rig.down.hang()
    expect((await rig.ending(() => rig.timers.list())).afterMs).toBeCloseTo(10_000, -2)
    const brief = await new Rig().open({ callTimeout: '3s' })
    brief.down.hang()
    expect((await brief.ending(() => brief.timers.list())).afterMs).toBeCloseTo(3000, -2)
  })

  it.each(['set', 'setMany', 'cancel', 'get', 'setQuota'])(
    'ends when its signal is aborted, with the reason as the cause: %s',
    async (name) => {
      const rig = await new Rig().open()
      rig.down.hang()
      const abort = new AbortController()
      const reason = new Error('the user has left')
      rig.clock.wakeAfter(300, () => abort.abort(reason))
      const { error, afterMs } = await rig.ending(() => calls[name]!(rig.timers, { signal: abort.signal }))
      expect(error).toMatchObject({ cause: reason })
      expect(afterMs).toBeLessThan(500)
      const late = await rig.ending(() => calls[name]!(rig.timers, { signal: abort.signal }))
      expect(late).toMatchObject({ error: { code: 'not-done', cause: reason } })
    },
  )

  it('is unknown-outcome if it was sent, and not-done if it waited behind another', async () => {
    const rig = await new Rig().open()
    rig.down.hang()
    const first = rig.timers.set(kind, 'first', { in: '1h', payload: 1 }).catch((error: unknown) => error)
    await rig.clock.advance(100)
    const behind = rig.timers.set(kind, 'behind', { in: '1h', payload: 1 }, { timeout: 500 })
    await expect(rig.during(behind)).rejects.toMatchObject({ name: 'LimitError', code: 'not-done' })
    expect(await rig.during(first)).toMatchObject({ name: 'StoreError', code: 'unknown-outcome' })
    rig.down.comeBack()
    await rig.clock.advance('1s')
    // The write that was on its way has arrived late. The other one was never sent.
    const { items } = await rig.during(rig.timers.list())
    expect(items.map(({ key }) => key).toSorted()).toEqual(['first', 'there'])
  })

  it('has no effect later if it is not-done: the store comes back', async () => {
    const rig = await new Rig().open()
    rig.down.isUnavailable = true
    const rows = Array.from({ length: 300 }, (_, n) => ({ key: `k${n}`, in: '1h', payload: n }))
    const options = { timeout: '1s' }
    const errors = await rig.during(
      Promise.allSettled([
        rig.timers.set(kind, 'a', { in: '1h', payload: 1 }, options),
        rig.timers.setMany(kind, rows, options),
        rig.timers.move(kind, 'there', { in: '5h' }, options),
        rig.timers.cancel(kind, 'there', options),
      ]),
    )
    for (const error of errors)
      expect(error).toMatchObject({ status: 'rejected', reason: { code: 'not-done' } })
    rig.down.comeBack()
    await rig.clock.advance('1m')
    const { items } = await rig.during(rig.timers.list())
    expect(items.map(({ key, revision }) => [key, revision])).toEqual([['there', 1]])
    expect(await rig.during(rig.timers.set(kind, 'b', { in: '1h', payload: 1 }))).toMatchObject({
      outcome: 'set',
    })
  })

  it('is not-done while it only waits for a schema or for the count of a quota', async () => {
    const rig = await new Rig().open()
    const slow = timer('slow', {
      payload: {
        '~standard': { version: 1, vendor: 'test', validate: () => new Promise<never>(() => undefined) },
      },
    })
    const checked = rig.timers.set(slow, 'a', { in: '1h', payload: 1 as never }, { timeout: 500 })
    await expect(rig.during(checked)).rejects.toMatchObject({ code: 'not-done' })
    await rig.during(rig.timers.setQuota({ maxTimers: 10 }))
    rig.down.isHanging = (name) => name === 'usage'
    const counted = rig.timers.set(kind, 'b', { in: '1h', payload: 1 }, { timeout: 500 })
    await expect(rig.during(counted)).rejects.toMatchObject({ code: 'not-done' })
    rig.down.comeBack()
    await rig.clock.advance('1m')
    expect((await rig.during(rig.timers.list())).items.map(({ key }) => key)).toEqual(['there'])
    expect(await rig.during(rig.timers.getQuota())).toMatchObject({ used: { timers: 1 } })
  })

  it('needs one timer for many calls at once', async () => {
    const rig = await new Rig().open()
    const before = rig.clock.pending
    rig.down.hang()
    const ended = Promise.allSettled(Array.from({ length: 5000 }, () => rig.timers.list()))
    expect(rig.clock.pending).toBe(before + 1)
    const results = await rig.during(ended)
    expect(results.every(({ status }) => status === 'rejected')).toBe(true)
  })
})

describe('a call with claims while the store does not answer', () => {
  it('is not-done while the store refuses it, and unknown-outcome if it was sent', async () => {
    const rig = await new Rig({ strategy: 'claim' }).open({ alone: false, engine: { strategy: 'claim' } })
    rig.down.isUnavailable = true
    const refused = await rig.ending(() =>
      rig.timers.set(kind, 'a', { in: '1h', payload: 1 }, { timeout: '1s' }),
    )
    expect(refused.error).toMatchObject({ code: 'not-done' })
    rig.down.comeBack()
    await rig.clock.advance('30s')
    expect(await rig.during(rig.timers.get(kind, 'a'))).toBeUndefined()
    rig.down.hang()
    const sent = await rig.ending(() =>
      rig.timers.set(kind, 'b', { in: '1h', payload: 1 }, { timeout: '1s' }),
    )
    expect(sent.error).toMatchObject({ code: 'unknown-outcome' })
    const behind = await rig.ending(() => rig.timers.cancel(kind, 'there', { timeout: '1s' }))
    expect(behind.error).toMatchObject({ code: 'not-done' })
  })
})

describe('a call on many timers', () => {
  it('says for each row what happened, if the call ends between two batches', async () => {
    const rig = await new Rig().open({ engine: { writeBatch: 1000 } })
    const rows = Array.from({ length: 3000 }, (_, n) => ({ key: `k${n}`, in: '1h', payload: n }))
    await rig.during(rig.timers.setMany(kind, rows))
    let writes = 0
    // The second batch of cancels gets no answer.
    rig.down.isHanging = (name) => name === 'write' && ++writes === 2
    const error = await rig.during(
      rig.timers
        .cancelMany({ kind, keys: rows.map(({ key }) => key) }, { timeout: '2s' })
        .catch((thrown: unknown) => thrown),
    )
    expect(error).toBeInstanceOf(PartialError)
    const codes = (error as PartialError).rows.map(({ answer, error: failure }) => failure?.code ?? answer)
    expect(codes.slice(0, 1000).every((code) => code === 'cancelled')).toBe(true)
    expect(codes.slice(1000).every((code) => code === 'unknown-outcome')).toBe(true)
    expect(error).toMatchObject({ untried: 1000 })
  })
})

describe('opening, starting and stopping while the store does not answer', () => {
  it('opening fails, and leaves nothing behind that keeps asking the store', async () => {
    const clock = new VirtualClock()
    const down = new DownStore(clock)
    down.hang()
    const opening = openTimers({ store: down.store, clock, logger: false, callTimeout: '2s' })
    await expect(during(clock, opening, 20)).rejects.toMatchObject({ code: 'store-unavailable' })
    expect(clock.monotonic()).toBeLessThan(3000)
    await clock.advance('1m')
    expect(down.calls).toEqual(['heartbeat'])
  })

  it('starting fails, and goes on in the background', async () => {
    const rig = await new Rig().open({ alone: false, callTimeout: '2s' })
    const fired: number[] = []
    rig.timers.handle(kind, ({ payload }) => void fired.push(payload))
    rig.down.hang()
    const { error } = await rig.ending(() => rig.timers.start())
    expect(error).toMatchObject({ code: 'unknown-outcome' })
    const again = await rig.ending(() => rig.timers.start({ timeout: '1s' }))
    expect(again.error).toMatchObject({ code: 'unknown-outcome' })
    rig.down.comeBack()
    await rig.during(rig.timers.start())
    await rig.clock.advance('2h')
    expect(fired).toEqual([1])
    await rig.during(rig.timers.stop())
  })

  it('stopping fails after stopMs and the timeout of a call', async () => {
    const rig = await new Rig().open({ callTimeout: '2s', engine: { stopMs: 3000 } })
    await rig.during(rig.timers.start())
    rig.down.hang()
    await rig.clock.advance('1s')
    const { error, afterMs } = await rig.ending(() => rig.timers.stop())
    expect(error).toMatchObject({ code: 'unknown-outcome', message: /may be repeated/ })
    expect(afterMs).toBeLessThan(7000)
  })
})

describe('the limits of a call', () => {
  it('are checked', async () => {
    const { timers } = await new Rig().open()
    const get = (options: object) => timers.get(kind, 'there', options as CallOptions)
    await expect(get({ timeout: 0 })).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(get({ timeout: '2d' })).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(get({ timeout: 'soon' })).rejects.toMatchObject({ code: 'invalid-duration' })
    await expect(get({ signal: 'now' })).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(get({ patience: 1 })).rejects.toMatchObject({ code: 'unknown-option' })
    await expect(timers.cancelMany({}, { dryrun: true } as object)).rejects.toMatchObject({
      code: 'unknown-option',
    })
    await expect(openTimers({ store: 'memory:', callTimeout: 0 })).rejects.toMatchObject({
      code: 'invalid-option',
    })
  })

  it('work with handles, too', async () => {
    const rig = await new Rig().open()
    const { handle } = await rig.during(rig.timers.set(kind, 'h', { in: '1h', payload: 1 }))
    const options = { timeout: '1s' }
    expect(await rig.during(rig.timers.get(handle, options))).toMatchObject({ key: 'h' })
    expect(await rig.during(rig.timers.move(handle, { in: '2h' }, options))).toBe('moved')
    expect(await rig.during(rig.timers.cancel(handle, options))).toBe('cancelled')
    expect(await rig.during(rig.timers.fireNow(handle, options))).toBe('unknown')
  })
})
