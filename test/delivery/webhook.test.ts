import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, it } from 'vitest'
import {
  openTimers,
  timer,
  type Timers,
  type TimersEvent,
  webhook,
  type WebhookOptions,
} from '../../src/index.js'
import { every } from '../../src/schedule/index.js'
import { until } from '../eventually.js'
import { Receiver } from './receiver.js'

const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`
const secret = newSecret()
const remind = timer<{ order: number }>('remind', { retry: { attempts: 3, backoff: '20ms..40ms' } })
const stops: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop()
})

async function receiver(answer: (response: ServerResponse, key: string, attempt: number) => void) {
  const started = await Receiver.start((response, { body, headers }) =>
    answer(response, (JSON.parse(body) as { key: string }).key, Number(headers['carillon-attempt'])),
  )
  stops.push(() => started.stop())
  return started
}

async function sending(url: string, options: Partial<WebhookOptions> = {}) {
  const events: TimersEvent[] = []
  const timers = await openTimers({
    store: 'memory:',
    history: 'all',
    onEvent: (event) => events.push(event),
  })
  stops.push(() => timers.stop())
  timers.deliver(remind, webhook(url, { secret, breaker: false, ...options }))
  await timers.start()
  return { timers, events }
}

async function set(timers: Timers, key: string, order = 7): Promise<void> {
  await timers.set(remind, key, { in: 0, payload: { order } })
}

async function isSettled(timers: Timers, key: string): Promise<boolean> {
  return (await timers.get(remind, key))?.state === 'settled'
}

async function reasonOf(timers: Timers, key: string): Promise<string | undefined> {
  const { items } = await timers.dead({ kind: remind })
  return items.find((letter) => letter.key === key)?.reason
}

describe('a webhook', () => {
  it('can be verified on every attempt: same id, new timestamp, valid signature', async () => {
    const target = await receiver((response, _, attempt) => {
      response.statusCode = attempt === 1 ? 503 : 204
      response.end()
    })
    const { timers } = await sending(`${target.url}/hooks?a=b`, { headers: { 'x-team': 'billing' } })
    await set(timers, 'order:7 ✓')
    await until('the second attempt', () => target.received.length === 2)
    await until('it is settled', () => isSettled(timers, 'order:7 ✓'))
    const [first, second] = target.received
    expect(first!.path).toBe('/hooks?a=b')
    expect(first!.headers['webhook-id']).toBe(second!.headers['webhook-id'])
    expect(first!.headers['webhook-id']).toMatch(/^msg_\w+-\w+-\w+$/)
    expect(first!.body).toBe(second!.body)
    expect([first!, second!].map(({ headers }) => headers['carillon-attempt'])).toEqual(['1', '2'])
    expect(first!.headers).toMatchObject({ 'content-type': 'application/json', 'x-team': 'billing' })
    for (const { body, headers } of target.received) {
      expect(new Webhook(secret).verify(body, headers)).toMatchObject({
        type: 'remind',
        key: 'order:7 ✓',
        occurrence: 0,
        data: { order: 7 },
      })
      expect(() => new Webhook(secret).verify(body.replace('7', '8'), headers)).toThrow(
        'No matching signature',
      )
      expect(() => new Webhook(newSecret()).verify(body, headers)).toThrow('No matching signature')
      const old = { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 3600) }
      expect(() => new Webhook(secret).verify(body, old)).toThrow('too old')
    }
  })

  it('turns the answer into done, again, a retry, a dead letter or gone', async () => {
    const answers: Readonly<Record<string, (response: ServerResponse, attempt: number) => void>> = {
      ok: (response) => response.end('fine'),
      created: (response) => response.writeHead(201).end(),
      again: (response) => {
        const isFirst = target.of('again').length === 1
        const body = isFirst ? { again: { in: '30ms' } } : {}
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      },
      // Only JSON is read, whatever it looks like.
      'again-as-text': (response) =>
        response.writeHead(200, { 'content-type': 'text/plain' }).end('{"again":{"in":"30ms"}}'),
      'again-unreadable': (response) =>
        response
          .writeHead(200, { 'content-type': 'application/json; charset=utf-8' })
          .end(JSON.stringify({ again: { in: '5 parsecs' } })),
      'bad-json': (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{'),
      408: (response) => response.writeHead(408).end(),
      425: (response) => response.writeHead(425).end(),
      429: (response) => response.writeHead(429).end(),
      500: (response) => response.writeHead(500).end(),
      302: (response) => response.writeHead(302, { location: `${target.url}/elsewhere` }).end(),
      400: (response) => response.writeHead(400).end('{"why":"not me"}'),
      404: (response) => response.writeHead(404).end(),
    }
    const target = await receiver((response, key, attempt) => answers[key]!(response, attempt))
    const { timers } = await sending(target.url)
    for (const key of Object.keys(answers)) await set(timers, key)
    await until('all are settled', async () => (await timers.list({})).items.length === 0)
    const sent = Object.fromEntries(Object.keys(answers).map((key) => [key, target.of(key).length]))
    expect(sent).toEqual({
      ok: 1,
      created: 1,
      again: 2,
      'again-as-text': 1,
      'again-unreadable': 3,
      'bad-json': 1,
      408: 3,
      425: 3,
      429: 3,
      500: 3,
      302: 3,
      400: 1,
      404: 1,
    })
    expect(await reasonOf(timers, '400')).toBe('the target answered 400')
    expect(await reasonOf(timers, '500')).toBe('attempt 3 of 3 failed: the target answered 500')
    expect(await reasonOf(timers, '302')).toMatch(/redirects \(302\), which is not followed/)
    expect(await reasonOf(timers, 'ok')).toBeUndefined()
  })

  it('ends a recurring timer when the target says so', async () => {
    const target = await receiver((response) => {
      const body = { end: target.of('a').length === 2 }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
    const { timers } = await sending(target.url)
    await timers.set(remind, 'a', { on: every('50ms'), payload: { order: 7 } })
    await until('it has ended', () => isSettled(timers, 'a'))
    expect(target.of('a').length).toBe(2)
  })

  it('pauses its kind when the target is gone', async () => {
    const target = await receiver((response) => response.writeHead(410).end())
    const { timers, events } = await sending(target.url)
    await set(timers, 'a')
    await until('it is dead', async () => (await reasonOf(timers, 'a')) === 'the target answered 410')
    await until('the kind is paused', () => events.some(({ type }) => type === 'target'))
    await set(timers, 'b')
    await new Promise((resolve) => {
      setTimeout(resolve, 100)
    })
    expect(target.of('b')).toEqual([])
    expect(await timers.get(remind, 'b')).toBeDefined()
    await timers.resume(remind)
    await until('the next one is sent', () => target.of('b').length === 1)
  })

  it('waits a little longer than Retry-After, given in seconds or as a date', async () => {
    const target = await receiver((response, key, attempt) => {
      if (attempt > 1) response.end()
      else {
        const date = new Date(Date.now() + 2000).toUTCString()
        response.writeHead(429, { 'retry-after': key === 'seconds' ? '1' : date }).end()
      }
    })
    const { timers } = await sending(target.url)
    await set(timers, 'seconds')
    await set(timers, 'date')
    await until('both came twice', () => target.received.length === 4)
    for (const key of ['seconds', 'date']) {
      const [first, second] = target.of(key)
      expect(second!.at - first!.at).toBeGreaterThanOrEqual(1000)
    }
  })

  it('retries after answers that are too long, endless, cut off or missing', async () => {
    const target = await receiver((response, key, attempt) => {
      if (attempt > 1 && key !== 'long') response.end()
      else if (key === 'long') response.end(Buffer.alloc(10 << 20, 'x'))
      else if (key === 'endless') {
        const more = (): void => {
          if (!response.destroyed) response.write(Buffer.alloc(65_536, 'x'), () => setImmediate(more))
        }
        more()
      } else if (key === 'cut') {
        response.writeHead(200, { 'content-length': '100' })
        response.write('half')
        setTimeout(() => response.socket?.destroy(), 5)
      } else if (key === 'reset') response.socket?.resetAndDestroy()
      // 'silent' gets no answer.
    })
    const { timers, events } = await sending(target.url, { timeout: '1500ms', maxAnswerBytes: 1000 })
    const keys = ['long', 'endless', 'cut', 'reset', 'silent']
    for (const key of keys) await set(timers, key)
    await until('all are settled', async () => (await timers.list({})).items.length === 0)
    expect(keys.map((key) => [key, target.of(key).length])).toEqual([
      ['long', 1],
      ['endless', 1],
      ['cut', 2],
      ['reset', 2],
      ['silent', 2],
    ])
    const failures = events.flatMap((event) =>
      event.type === 'failed' ? [[event.firing.key, (event.error as Error).message] as const] : [],
    )
    expect(Object.fromEntries(failures)).toEqual({
      cut: expect.stringContaining('the target could not be reached') as string,
      reset: expect.stringContaining('the target could not be reached') as string,
      silent: 'the target took more than 1500 ms to answer',
    })
  })

  it('sends no message that cannot be verified while its secret changes', async () => {
    const young = newSecret()
    const target = await receiver((response) => response.end())
    const both = await sending(target.url, { secret: [young, secret] })
    for (let i = 0; i < 20; i++) await set(both.timers, `k${i}`)
    await until('all came', () => target.received.length === 20)
    for (const { body, headers } of target.received) {
      expect(new Webhook(secret).verify(body, headers)).toBeDefined()
      expect(new Webhook(young).verify(body, headers)).toBeDefined()
    }
  })

  it('stops sending to a target that fails, without using up attempts, and resumes later', async () => {
    let isUp = false
    const target = await receiver((response) => response.writeHead(isUp ? 200 : 500).end())
    const { timers, events } = await sending(target.url, {
      breaker: { failures: 5, pause: '200ms', maxPause: '1s' },
      concurrency: 1,
    })
    const states = (): string[] => events.flatMap((event) => (event.type === 'target' ? [event.state] : []))
    // How many messages had been sent each time that the breaker opened.
    const sentWhenOpened: number[] = []
    timers.onEvent((event) => {
      if (event.type === 'target' && event.state === 'open') sentWhenOpened.push(target.received.length)
    })
    for (let i = 0; i < 50; i++) await set(timers, `k${i}`)
    await until('it opens, is tried and opens again', () => sentWhenOpened.length >= 2)
    expect(sentWhenOpened[0]).toBeLessThan(10)
    expect(sentWhenOpened[1]).toBeLessThanOrEqual(sentWhenOpened[0]! + 2)
    isUp = true
    const sentBefore = target.received.length
    await until('all are settled', async () => (await timers.list({})).items.length === 0)
    expect(states().at(-1)).toBe('closed')
    // Only those that were tried while it was down have failed attempts: the others arrive at their first.
    const late = target.received.filter(({ headers }) => Number(headers['carillon-attempt']) > 1)
    expect(late.length).toBeLessThanOrEqual(sentBefore)
    expect((await timers.dead({ kind: remind })).items).toEqual([])
  })

  it('never shows its secrets in the target, events, history or dead letters', async () => {
    const target = await receiver((response) => response.writeHead(400).end())
    const { timers, events } = await sending(target.url)
    await set(timers, 'a')
    await until('it is dead', async () => (await reasonOf(timers, 'a')) !== undefined)
    const shown = JSON.stringify([
      webhook(target.url, { secret }),
      events,
      await timers.history({ key: 'a' }),
      await timers.dead({ kind: remind }),
    ])
    expect(shown).not.toContain(secret.slice(6))
  })

  it('refuses unknown options, reserved headers and invalid counts', () => {
    const url = 'https://example.org/'
    const refused = (options: object, code: string): void => {
      expect(() => webhook(url, { secret, ...options })).toThrow(expect.objectContaining({ code }))
    }
    refused({ secrets: [secret] }, 'unknown-option')
    refused({ headers: { 'Webhook-Id': 'mine' } }, 'invalid-option')
    refused({ headers: { 'x-a': 'a\r\nx-b: b' } }, 'invalid-option')
    refused({ headers: { 'x a': 'b' } }, 'invalid-option')
    refused({ concurrency: 0 }, 'invalid-option')
    refused({ rate: -1 }, 'invalid-option')
    refused({ timeout: '5 parsecs' }, 'invalid-duration')
    refused({ breaker: { fails: 3 } }, 'unknown-option')
    refused({ secret: 'whsec_x' }, 'invalid-secret')
    refused({ guard: { https: true } }, 'unknown-option')
  })
})
