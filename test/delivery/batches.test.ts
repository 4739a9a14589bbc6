import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, it } from 'vitest'
import { openTimers, timer, type TimersEvent, webhook, type WebhookOptions } from '../../src/index.js'
import { until } from '../eventually.js'
import { Receiver } from './receiver.js'

interface Item {
  readonly id: string
  readonly attempt: number
  readonly key: string
  readonly data: { readonly n: number }
}

const secret = `whsec_${randomBytes(32).toString('base64')}`
const order = timer<{ n: number }>('order', { retry: { attempts: 3, backoff: '10ms' } })
const stops: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop()
})

async function batching(
  batch: WebhookOptions['batch'],
  answer: (response: ServerResponse, items: readonly Item[]) => void,
  options: Partial<WebhookOptions> = {},
) {
  const messages: (readonly Item[])[] = []
  const target = await Receiver.start((response, { body }) => {
    const items = (JSON.parse(body) as { batch: Item[] }).batch
    messages.push(items)
    answer(response, items)
  })
  stops.push(() => target.stop())
  const events: TimersEvent[] = []
  const timers = await openTimers({ store: 'memory:', onEvent: (event) => events.push(event) })
  stops.push(() => timers.stop())
  timers.deliver(order, webhook(target.url, { secret, batch: batch!, breaker: false, ...options }))
  const set = async (keys: readonly string[]) => {
    await timers.setMany(
      order,
      keys.map((key, n) => ({ key, in: 0, payload: { n } })),
    )
  }
  return { target, timers, events, messages, set }
}

const ok = (response: ServerResponse): void => void response.writeHead(204).end()
const keysOf = (messages: readonly (readonly Item[])[]) =>
  messages.flatMap((items) => items.map(({ key }) => key))
const keys = (count: number) => Array.from({ length: count }, (_, n) => `k${String(n).padStart(4, '0')}`)

describe('a webhook with batches', () => {
  it('sends all firings of one moment in signed messages of at most `most`, each firing once', async () => {
    const { target, timers, messages, set } = await batching({ most: 100 }, ok, { concurrency: 2 })
    await set(keys(1050))
    await timers.start()
    await until('all are sent', () => keysOf(messages).length >= 1050)
    await until('all are settled', async () => (await timers.list()).items.length === 0)
    expect(keysOf(messages).toSorted()).toEqual(keys(1050))
    expect(Math.max(...messages.map((items) => items.length))).toBe(100)
    // As one message ends, the next is as full as it can be.
    expect(messages.length).toBeLessThan(30)
    for (const { body, headers } of target.received) {
      expect(new Webhook(secret).verify(body, headers)).toMatchObject({ type: 'order' })
    }
    expect(new Set(target.received.map(({ headers }) => headers['webhook-id'])).size).toBe(messages.length)
    const [first] = messages.flat()
    expect(first).toMatchObject({ attempt: 1, occurrence: 0, data: { n: expect.any(Number) as number } })
  })

  it('waits up to `wait` for more firings before it sends a message', async () => {
    const { timers, messages, set } = await batching({ most: 100, wait: '300ms' }, ok)
    await timers.start()
    for (const key of keys(5)) await set([key])
    await until('all are sent', () => keysOf(messages).length === 5)
    expect(messages).toHaveLength(1)
  })

  it('applies an answer to all firings of a message, or to each that the answer names', async () => {
    const fates: Readonly<Record<string, object>> = {
      again: { again: { in: '20ms' } },
      dead: { dead: true, reason: 'no such order' },
      later: { retry: { in: '20ms' }, reason: 'busy' },
      soon: { retry: {} },
      unreadable: { again: { in: '5 parsecs' } },
    }
    const seen = new Set<string>()
    const { timers, messages, set } = await batching({ most: 10 }, (response, items) => {
      const named = items.flatMap(({ id, key }) => {
        if (seen.has(key) || fates[key] === undefined) return []
        seen.add(key)
        return [{ id, ...fates[key] }]
      })
      const body = JSON.stringify({ items: [...named, { id: 'msg_nobody', dead: true }, 7, null] })
      response.writeHead(200, { 'content-type': 'application/json' }).end(body)
    })
    await set(['again', 'dead', 'done', 'later', 'soon', 'unreadable'])
    await timers.start()
    await until('all are settled', async () => (await timers.list()).items.length === 0)
    expect(keysOf(messages.slice(0, 1)).toSorted()).toEqual([
      'again',
      'dead',
      'done',
      'later',
      'soon',
      'unreadable',
    ])
    expect(keysOf(messages.slice(1)).toSorted()).toEqual(['again', 'later', 'soon', 'unreadable'])
    const { items } = await timers.dead()
    expect(items).toMatchObject([
      { key: 'dead', reason: 'the target gave it up: no such order', attempts: 1 },
    ])
    // What is tried again has the id it had.
    const ids = new Map(messages[0]!.map(({ key, id }) => [key, id] as const))
    const later = messages.slice(1).flat()
    for (const { key, id, attempt } of later.filter((item) => item.key !== 'again')) {
      expect([key, id, attempt]).toEqual([key, ids.get(key), 2])
    }
    expect(later.find(({ key }) => key === 'again')!.id).not.toBe(ids.get('again'))
  })

  it('retries a failed message as a whole, and dead-letters only the firing that is refused', async () => {
    let failures = 1
    const { timers, messages, set } = await batching({ most: 10 }, (response, items) => {
      if (failures-- > 0) response.writeHead(503).end()
      else response.writeHead(items.some(({ key }) => key === 'bad') ? 400 : 204).end()
    })
    await set(['a', 'b', 'bad', 'c'])
    await timers.start()
    await until('all are settled', async () => (await timers.list()).items.length === 0)
    expect((await timers.dead()).items).toMatchObject([{ key: 'bad', reason: 'the target answered 400' }])
    const attempts = messages.flat().map(({ key, attempt }) => `${key} ${attempt}`)
    for (const key of ['a', 'b', 'bad', 'c']) expect(attempts).toContain(`${key} 2`)
    expect(Math.max(...messages.flat().map(({ attempt }) => attempt))).toBe(2)
  })

  it('counts a failed message once for the breaker', async () => {
    const { timers, events, messages, set } = await batching(
      { most: 50 },
      (response) => void response.writeHead(503).end(),
      { breaker: { failures: 3, pause: '10m' } },
    )
    await set(keys(50))
    await timers.start()
    await until('it opens', () => events.some((event) => event.type === 'target' && event.state === 'open'))
    expect(messages.length).toBeGreaterThanOrEqual(3)
  })

  it('closes a message before it becomes too long', async () => {
    const { timers, messages, target } = await batching({ most: 1000 }, ok)
    const long = 'x'.repeat(200_000)
    await timers.setMany(
      order,
      keys(12).map((key, n) => ({ key, in: 0, payload: { n, long } as { n: number } })),
    )
    await timers.start()
    await until('all are sent', () => keysOf(messages).length === 12)
    expect(Math.max(...target.received.map(({ body }) => body.length))).toBeLessThan(1_050_000)
    expect(messages.length).toBeLessThan(12)
  })

  it('refuses batch options that are out of range', () => {
    const wrong: [object, RegExp][] = [
      [{ most: 0 }, /batch\.most/],
      [{ most: 1001 }, /from 1 to 1000/],
      [{}, /batch\.most/],
      [{ most: 5, size: 3 }, /"size"/],
      [{ most: 2, wait: 'long' }, /"long"/],
    ]
    for (const [batch, message] of wrong) {
      const options = { secret, batch: batch as { most: number } }
      expect(() => webhook('https://example.org/', options)).toThrow(message)
    }
  })
})
