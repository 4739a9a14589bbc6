import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, it } from 'vitest'
import {
  lease,
  log,
  openTimers,
  type TargetForm,
  timer,
  type Timers,
  type TimersEvent,
  type TimersOptions,
  VirtualClock,
  webhook,
} from '../../src/index.js'
import { MemoryStore, type Store } from '../../src/store/index.js'
import { Receiver } from '../delivery/receiver.js'
import { during } from '../during.js'
import { until } from '../eventually.js'

const START = Date.UTC(2026, 0, 1)
const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`
const secret = newSecret()
const remind = timer<{ order: number }>('remind')
const local = { http: true, addresses: ['127.0.0.0/8'] }
const stops: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop()
})

async function opened(options: Partial<TimersOptions> & { readonly store?: Store } = {}) {
  const events: TimersEvent[] = []
  const timers = await openTimers({ store: 'memory:', onEvent: (event) => events.push(event), ...options })
  stops.push(() => timers.stop())
  await timers.start()
  return { timers, events }
}

async function receiver(status: (key: string) => number = () => 204) {
  const started = await Receiver.start((response, { body }) => {
    response.writeHead(status((JSON.parse(body) as { key: string }).key)).end()
  })
  stops.push(() => started.stop())
  const guard = { ...local, ports: [Number(new URL(started.url).port)] }
  return { started, url: started.url, guard }
}

async function set(timers: Timers, key: string): Promise<void> {
  await timers.set(remind, key, { in: 0, payload: { order: 7 } })
}

describe('a target in the store', () => {
  it('gets the timers of its kind, signed with its current secrets', async () => {
    const { started, url, guard } = await receiver()
    const { timers } = await opened({ guard })
    await timers.setTarget('remind', { type: 'webhook', url: `${url}/a`, secret })
    await set(timers, 'first')
    await until('the first', () => started.received.length === 1)
    const next = newSecret()
    await timers.setTarget('remind', { type: 'webhook', url: `${url}/b`, secret: [next, secret] })
    await set(timers, 'second')
    await until('the second', () => started.received.length === 2)
    // The URL changes, the secrets stay.
    await timers.setTarget(remind, { type: 'webhook', url: `${url}/c`, timeout: '5s' })
    await set(timers, 'third')
    await until('the third', () => started.received.length === 3)
    expect(started.received.map(({ path }) => path)).toEqual(['/a', '/b', '/c'])
    const [first, ...others] = started.received
    expect(new Webhook(secret).verify(first!.body, first!.headers)).toMatchObject({ key: 'first' })
    expect(() => new Webhook(next).verify(first!.body, first!.headers)).toThrow('No matching signature')
    for (const { body, headers } of others) {
      expect(new Webhook(secret).verify(body, headers)).toMatchObject({ type: 'remind' })
      expect(new Webhook(next).verify(body, headers)).toMatchObject({ type: 'remind' })
    }
  })

  it('still gets a batch that is being collected when another target replaces it', async () => {
    const { started, url, guard } = await receiver()
    const { timers } = await opened({ guard })
    const form = { type: 'webhook', secret, retry: { attempts: 1 }, batch: { most: 10, wait: '2s' } } as const
    await timers.setTarget(remind, { ...form, url: `${url}/a` })
    await set(timers, 'waiting')
    await until('it waits', async () => (await timers.get(remind, 'waiting'))?.state === 'firing')
    await timers.setTarget(remind, { ...form, url: `${url}/b` })
    await until('it is over', async () => (await timers.get(remind, 'waiting'))?.state === 'settled')
    expect((await timers.dead()).items).toEqual([])
    expect(started.received.map(({ path }) => path)).toEqual(['/a'])
  })

  it('never returns its secrets and headers', async () => {
    const { started, url, guard } = await receiver((key) => (key === 'dead' ? 400 : 204))
    const lines: unknown[] = []
    const logger = {
      info: (...line: unknown[]) => lines.push(line),
      warn: (...line: unknown[]) => lines.push(line),
    }
    const { timers, events } = await opened({ guard, logger, history: 'all' })
    const [second, token] = [newSecret(), 'Bearer 8a61b3f0c2'] as const
    const form = {
      type: 'webhook',
      url,
      secret: [secret, second],
      headers: { authorization: token },
    } as const
    const answered = await timers.setTarget(remind, form)
    expect(answered).toMatchObject({ kind: 'remind', type: 'webhook', url, headerNames: ['authorization'] })
    await set(timers, 'done')
    await set(timers, 'dead')
    await until('both', () => started.received.length === 2)
    expect(started.received[0]!.headers['authorization']).toBe(token)
    await until('the dead letter', async () => (await timers.dead()).items.length === 1)
    const views = [answered, await timers.getTarget(remind), ...(await timers.listTargets())]
    const refused = await timers
      .setTarget(remind, { ...form, secret: [`${secret}!`] })
      .then(() => 'taken', String)
    const told = events.map((event) => ('firing' in event ? [event.type, event.firing.id] : event))
    const shown = JSON.stringify([views, lines, told, refused, await timers.history(), await timers.dead()])
    for (const hidden of [secret, second, token]) {
      expect(shown).not.toContain(hidden)
      expect(shown).not.toContain(hidden.slice(-12))
    }
    const ids = answered.type === 'webhook' ? answered.secretIds : []
    expect(ids).toHaveLength(2)
    expect(ids[0]).toMatch(/^[0-9a-f]{8}$/)
    expect(ids[0]).not.toBe(ids[1])
    expect(views[1]).toEqual(answered)
  })

  it('stays on the public internet, unless the guard allows more', async () => {
    const { started, url, guard } = await receiver()
    const form = { type: 'webhook', url, secret } as const
    const plain = await opened()
    await expect(plain.timers.setTarget(remind, form)).rejects.toMatchObject({ code: 'refused-url' })
    await expect(
      plain.timers.setTarget(remind, { ...form, url: 'https://169.254.169.254/' }),
    ).rejects.toMatchObject({ code: 'refused-url' })
    await expect(
      plain.timers.setTarget(remind, { ...form, guard: local } as TargetForm),
    ).rejects.toMatchObject({ code: 'unknown-option' })
    expect(await plain.timers.listTargets()).toEqual([])
    // The host name is looked up for every connection.
    await plain.timers.setTarget(remind, { ...form, url: 'https://localhost/', retry: { attempts: 1 } })
    await set(plain.timers, 'by name')
    await until('it is given up', async () => (await plain.timers.dead()).items.length === 1)
    expect((await plain.timers.dead()).items[0]!.reason).toContain(
      'its host has no address that may be called',
    )
    for (const each of [guard, false] as const) {
      const { timers } = await opened({ guard: each })
      await timers.setTarget(remind, form)
      await set(timers, 'allowed')
      const count = started.received.length
      await until('it arrives', () => started.received.length > count)
    }
  })

  it('comes after a handler of the program, and before handleOthers', async () => {
    const { timers, events } = await opened()
    const byProgram: string[] = []
    const byOthers: string[] = []
    const own = timer('own')
    await timers.setTarget('own', { type: 'log' })
    await timers.setTarget('leased', { type: 'lease' })
    await timers.setTarget('logged', { type: 'log' })
    timers.handle(own, ({ key }) => void byProgram.push(key))
    timers.handle(timer('leased'), ({ key }) => void byProgram.push(key))
    timers.handleOthers(({ kind, key }) => void byOthers.push(`${kind} ${key}`))
    const logged = () => events.flatMap((event) => (event.type === 'logged' ? [event.firing.key] : []))
    await timers.set(own, 'a', { in: 0 })
    await timers.set(timer('leased'), 'b', { in: 0 })
    await timers.set(timer('logged'), 'c', { in: 0 })
    await until('all three', () => byProgram.length === 2 && logged().length === 1)
    expect(logged()).toEqual(['c'])
    await expect(timers.lease('leased')).rejects.toMatchObject({ code: 'not-leased' })
    expect(await timers.removeTarget('logged')).toBe('removed')
    expect(await timers.removeTarget('logged')).toBe('unknown')
    expect(await timers.getTarget('logged')).toBeUndefined()
    await timers.set(timer('logged'), 'd', { in: 0 })
    await until('the other', () => byOthers.length === 1)
    expect(byOthers).toEqual(['logged d'])
    expect((await timers.listTargets()).map(({ kind }) => kind)).toEqual(['leased', 'own'])
  })

  it('lets running deliveries end when it is replaced or removed', async () => {
    const held: (() => void)[] = []
    const slow = await Receiver.start((response) => held.push(() => response.writeHead(204).end()))
    stops.push(() => slow.stop())
    const { timers, events } = await opened({ guard: false })
    await timers.setTarget(remind, { type: 'webhook', url: slow.url, secret })
    await set(timers, 'slow')
    await until('it is under way', () => held.length === 1)
    const quick = await receiver()
    await timers.setTarget(remind, { type: 'webhook', url: quick.url })
    await set(timers, 'quick')
    await until('the other', () => quick.started.received.length === 1)
    await timers.removeTarget(remind)
    held[0]!()
    await until('both are settled', async () => (await timers.list()).items.length === 0)
    expect(events.filter(({ type }) => type === 'failed')).toEqual([])
    expect(slow.received).toHaveLength(1)
    await set(timers, 'waits')
    await until('it is due', async () => (await timers.get(remind, 'waits'))!.dueAt <= Date.now())
    expect((await timers.get(remind, 'waits'))?.state).toBe('waiting')
  })

  it('may be the log, which gets the payload up to a limit', async () => {
    const lines: [object, string][] = []
    const logger = {
      info: (facts: object, line: string) => void lines.push([facts, line]),
      warn: (facts: object, line: string) => void lines.push([facts, line]),
    }
    const { timers } = await opened({ logger })
    const long = timer<string>('long')
    await timers.setTarget(remind, { type: 'log' })
    timers.deliver(long, log())
    await set(timers, 'a')
    await timers.set(long, 'b', { in: 0, payload: 'x'.repeat(5000) })
    const logged = () => lines.filter(([facts]) => 'id' in facts)
    await until('both lines', () => logged().length === 2)
    expect(logged()[0]).toMatchObject([
      { kind: 'remind', key: 'a', attempt: 1, payload: { order: 7 } },
      'remind a fired',
    ])
    expect(logged()[1]![0]).toMatchObject({ payload: '5002 characters of JSON' })
  })

  it('sets the retry policy of its timers, unless a timer has its own', async () => {
    const { url, guard } = await receiver(() => 503)
    const { timers } = await opened({ guard })
    const retry = { attempts: 2, backoff: '1ms' }
    await timers.setTarget(remind, { type: 'webhook', url, secret, breaker: false, retry })
    await set(timers, 'by the target')
    await timers.set(remind, 'its own', { in: 0, payload: { order: 1 }, retry: { attempts: 1 } })
    await until('both are given up', async () => (await timers.dead()).items.length === 2)
    const { items } = await timers.dead()
    expect(items.map(({ key, attempts }) => `${key} ${attempts}`).toSorted()).toEqual([
      'by the target 2',
      'its own 1',
    ])
  })

  it('is refused when it is invalid', async () => {
    const { timers } = await opened()
    const hook = { type: 'webhook', url: 'https://example.org/', secret } as const
    const wrong: [unknown, string][] = [
      [undefined, 'invalid-option'],
      [null, 'invalid-option'],
      ['log', 'invalid-option'],
      [[], 'invalid-option'],
      [{}, 'invalid-option'],
      [{ type: 'mail' }, 'invalid-option'],
      [{ type: 'log', level: 'warn' }, 'unknown-option'],
      [{ type: 'log', retry: { attempts: 0 } }, 'invalid-option'],
      [{ type: 'log', retry: 3 }, 'invalid-option'],
      [{ type: 'lease', duration: '5 parsecs' }, 'invalid-duration'],
      [{ type: 'lease', wait: '5s' }, 'unknown-option'],
      [{ type: 'webhook', url: 'https://example.org/' }, 'invalid-secret'],
      [{ ...hook, secret: [] }, 'invalid-secret'],
      [{ ...hook, secret: 'whsec_short' }, 'invalid-secret'],
      [{ ...hook, secret: Array.from({ length: 9 }, newSecret) }, 'invalid-secret'],
      [{ ...hook, url: 'example.org' }, 'invalid-url'],
      [{ ...hook, url: 7 }, 'invalid-url'],
      [{ ...hook, url: 'ftp://example.org/' }, 'refused-url'],
      [{ ...hook, url: 'https://me:pass@example.org/' }, 'refused-url'],
      [{ ...hook, headers: 'none' }, 'invalid-option'],
      [{ ...hook, headers: { 'webhook-id': 'mine' } }, 'invalid-option'],
      [{ ...hook, headers: { 'x-a': 'a\r\nb: c' } }, 'invalid-option'],
      [{ ...hook, headers: { 'x-a': 'a'.repeat(20_000) } }, 'invalid-option'],
      [{ ...hook, concurrency: 0 }, 'invalid-option'],
      [{ ...hook, breaker: { failures: 'many' } }, 'invalid-option'],
      [{ ...hook, follow: true }, 'unknown-option'],
    ]
    for (const [form, code] of wrong) {
      await expect(timers.setTarget(remind, form as TargetForm)).rejects.toMatchObject({ code })
    }
    await expect(timers.setTarget('', { type: 'log' })).rejects.toMatchObject({ code: 'invalid-kind' })
    expect(await timers.listTargets()).toEqual([])
    expect(() => timers.deliver(timer('code'), webhook('http://127.0.0.1/', { secret }))).not.toThrow()
  })

  it('has the same guard as a webhook of the program, if openTimers got one', async () => {
    const { timers } = await opened({ guard: {} })
    const target = webhook('http://127.0.0.1/', { secret })
    expect(() => timers.deliver(timer('code'), target)).toThrow(/not allowed here, use https/)
    const own = webhook('http://127.0.0.1/', { secret, guard: { ...local, ports: [80] } })
    expect(() => timers.deliver(timer('code'), own)).not.toThrow()
    await expect(openTimers({ store: 'memory:', guard: { hosts: [], port: 1 } as object })).rejects.toThrow(
      /does not know the option/,
    )
  })
})

describe('a target that one instance stores', () => {
  const tick = timer<number>('tick')

  async function cluster() {
    const clock = new VirtualClock({ start: START })
    const store = new MemoryStore({ clock, shardCount: 8 })
    const open = async (options: Partial<TimersOptions> = {}) => {
      const events: TimersEvent[] = []
      const timers = await openTimers({
        store: store.connect(),
        clock,
        onEvent: (event) => events.push(event),
        ...options,
      })
      await during(clock, timers.start(), 50)
      return { timers, events }
    }
    return { clock, store, open }
  }

  const logged = (events: readonly TimersEvent[]) =>
    events.flatMap((event) => (event.type === 'logged' ? [event.firing.key] : []))
  const rows = Array.from({ length: 200 }, (_, n) => ({ key: `k${n}`, in: 0, payload: n }))

  it('is used by every instance within two seconds, as are its change and its removal', async () => {
    const { clock, open } = await cluster()
    const [a, b] = [await open(), await open()]
    await clock.advance('5s')
    await during(clock, a.timers.setMany(tick, rows), 50)
    await during(clock, a.timers.setTarget('tick', { type: 'log' }), 50)
    await clock.advance('2100ms')
    expect([...logged(a.events), ...logged(b.events)].toSorted()).toEqual(
      rows.map(({ key }) => key).toSorted(),
    )
    // Until `b` had the target, its timers went to `a`.
    await during(clock, a.timers.setMany(tick, rows), 50)
    await clock.advance('100ms')
    expect(logged(b.events).length).toBeGreaterThan(0)
    await during(clock, b.timers.setTarget(tick, { type: 'lease', duration: '1m' }), 50)
    await clock.advance('2100ms')
    await during(clock, b.timers.setMany(tick, rows), 50)
    await clock.advance('100ms')
    const given = [
      ...(await a.timers.lease(tick, { max: 200 })),
      ...(await b.timers.lease('tick', { max: 200 })),
    ]
    expect(given.map(({ key }) => key).toSorted()).toEqual(rows.map(({ key }) => key).toSorted())
    await during(clock, a.timers.removeTarget(tick), 50)
    await clock.advance('2100ms')
    await expect(b.timers.lease(tick)).rejects.toMatchObject({ code: 'not-leased' })
    const states = b.events.flatMap((event) => (event.type === 'target' ? [event.state] : []))
    expect(states).toEqual(['set', 'set', 'removed'])
    await during(clock, Promise.all([a.timers.stop(), b.timers.stop()]), 100)
  })

  it('does not apply to another namespace', async () => {
    const { clock, open } = await cluster()
    const [one, other] = [await open({ namespace: 'a' }), await open({ namespace: 'a/b' })]
    await during(clock, one.timers.setTarget('tick', { type: 'log' }), 50)
    await during(clock, one.timers.setTarget('b/tick', { type: 'log' }), 50)
    await clock.advance('3s')
    expect(await other.timers.listTargets()).toEqual([])
    expect(await one.timers.listTargets()).toHaveLength(2)
    await during(clock, Promise.all([one.timers.stop(), other.timers.stop()]), 100)
  })

  it('keeps the timers waiting in an instance that cannot use it', async () => {
    const { clock, store, open } = await cluster()
    const { timers, events } = await open()
    await during(clock, timers.setMany(tick, rows.slice(0, 3)), 50)
    // A newer version may know types that this one does not.
    await store.putSetting('target/default/tick', '{"type":"queue"}')
    await store.putSetting('target-stamp/default/', 'changed')
    await clock.advance('3s')
    expect(events).toContainEqual({ type: 'target', kind: 'tick', state: 'refused' })
    expect(logged(events)).toEqual([])
    await during(clock, timers.setTarget(tick, { type: 'log' }), 50)
    await clock.advance('1s')
    expect(logged(events)).toHaveLength(3)
    await during(clock, timers.stop(), 100)
  })

  it('is one of the two that were stored at the same time, with its own secret', async () => {
    const { clock, store, open } = await cluster()
    const { timers } = await open()
    const hook = { type: 'webhook', url: 'https://example.org/', secret } as const
    await during(clock, timers.setTarget(tick, hook), 50)
    const next = newSecret()
    await during(
      clock,
      Promise.all([
        timers.setTarget(tick, { ...hook, secret: next }),
        timers.setTarget(tick, { type: 'webhook', url: 'https://example.org/other' }),
      ]),
      50,
    )
    const [setting] = await store.settings('target/default/tick')
    const stored = JSON.parse(setting!.value) as { url: string; secret: string }
    expect([
      ['https://example.org/', next],
      ['https://example.org/other', next],
    ]).toContainEqual([stored.url, stored.secret])
    await during(clock, timers.stop(), 100)
  })
})

it('timers opened with within have their own targets, with the same guard', async () => {
  const { started, url, guard } = await receiver()
  const { timers } = await opened({ guard })
  const inner = await timers.within('inner')
  await inner.setTarget(remind, { type: 'webhook', url, secret })
  await timers.setTarget(remind, { type: 'lease' })
  await set(inner, 'sent')
  await set(timers, 'leased')
  const [firing] = await timers.lease(remind, { max: 9, wait: '5s' })
  expect(firing).toMatchObject({ key: 'leased' })
  await timers.ack(firing!.receipt)
  expect(await inner.ack(firing!.receipt)).toBe('stale')
  await until('it is sent', () => started.received.length === 1)
  await expect(inner.lease(remind)).rejects.toMatchObject({ code: 'not-leased' })
  const elsewhere = { type: 'webhook', url: 'https://10.0.0.1/', secret } as const
  await expect(inner.setTarget(remind, elsewhere)).rejects.toMatchObject({ code: 'refused-url' })
})

it('deliver accepts the target lease()', async () => {
  const { timers } = await opened()
  timers.deliver(remind, lease())
  await set(timers, 'a')
  const [firing] = await timers.lease(remind, { wait: '5s' })
  expect(firing).toMatchObject({ key: 'a' })
  expect(await timers.ack(firing!.receipt)).toBe('acked')
})
