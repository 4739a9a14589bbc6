import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { PartialError } from '../../src/error/index.js'
import { type CallOptions, openTimers, type RemoteTimers, timer } from '../../src/front/index.js'

const kind = timer<number>('kind')

/** A server that answers what it is told to, and otherwise never. */
class SilentServer implements AsyncDisposable {
  readonly requests: string[] = []
  answerOf: (path: string, body: string) => unknown = () => undefined
  readonly #server: http.Server

  constructor() {
    this.#server = http.createServer((request, response) => {
      let body = ''
      request.on('data', (data) => (body += String(data)))
      request.on('end', () => {
        const path = request.url ?? ''
        this.requests.push(`${request.method} ${path}`)
        const answer =
          path === '/v1/kinds' && this.requests.length === 1 ? { kinds: [] } : this.answerOf(path, body)
        if (answer !== undefined) response.end(JSON.stringify(answer))
      })
    })
  }

  async open(options: { readonly callTimeout?: string } = {}): Promise<RemoteTimers> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const { port } = this.#server.address() as AddressInfo
    return await openTimers({ store: `http://127.0.0.1:${port}`, logger: false, ...options })
  }

  /** From now on, nobody listens there. */
  close(): Promise<void> {
    this.#server.closeAllConnections()
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

let server: SilentServer

afterEach(async () => {
  await server.close()
})

const reads: Readonly<Record<string, (timers: RemoteTimers, options: CallOptions) => Promise<unknown>>> = {
  get: (timers, options) => timers.get(kind, 'a', options),
  list: (timers, options) => timers.list({}, options),
  forecast: (timers, options) => timers.forecast({}, options),
  history: (timers, options) => timers.history({}, options),
  dead: (timers, options) => timers.dead({}, options),
  why: (timers, options) => timers.why(kind, 'a', options),
  kinds: (timers, options) => timers.kinds(options),
  paused: (timers, options) => timers.paused(options),
  getQuota: (timers, options) => timers.getQuota(options),
  getTarget: (timers, options) => timers.getTarget(kind, options),
  listTargets: (timers, options) => timers.listTargets(options),
}

const changes: typeof reads = {
  set: (timers, options) => timers.set(kind, 'a', { in: '1h', payload: 1 }, options),
  setMany: (timers, options) => timers.setMany(kind, [{ key: 'a', in: '1h', payload: 1 }], options),
  move: (timers, options) => timers.move(kind, 'a', { in: '1h' }, options),
  cancel: (timers, options) => timers.cancel(kind, 'a', options),
  fireNow: (timers, options) => timers.fireNow(kind, 'a', options),
  moveMany: (timers, options) => timers.moveMany({ kind, keys: ['a'] }, { in: '1h' }, options),
  cancelMany: (timers, options) => timers.cancelMany({ kind, keys: ['a'] }, options),
  redrive: (timers, options) => timers.redrive({}, options),
  discard: (timers, options) => timers.discard({}, options),
  pause: (timers, options) => timers.pause(kind, undefined, options),
  'resume of a timer': (timers, options) => timers.resume(kind, 'a', options),
  setQuota: (timers, options) => timers.setQuota({ maxTimers: 1 }, options),
  setTarget: (timers, options) => timers.setTarget(kind, { type: 'lease' }, options),
  removeTarget: (timers, options) => timers.removeTarget(kind, options),
  ack: (timers, options) => timers.ack('receipt', options),
  extend: (timers, options) => timers.extend('receipt', '1m', options),
  release: (timers, options) => timers.release('receipt', options),
  lease: (timers, { timeout = 1 }) => timers.lease(kind, { timeout }),
}

describe('a call to a server that does not answer', () => {
  it.each(Object.keys(reads))('fails with not-done if it only reads: %s', async (name) => {
    server = new SilentServer()
    const timers = await server.open()
    await expect(reads[name]!(timers, { timeout: 100 })).rejects.toMatchObject({ code: 'not-done' })
  })

  it.each(Object.keys(changes))('fails with unknown-outcome if it changes something: %s', async (name) => {
    server = new SilentServer()
    const timers = await server.open()
    await expect(changes[name]!(timers, { timeout: 400 })).rejects.toMatchObject({ code: 'unknown-outcome' })
    const sent = server.requests.length
    expect(sent).toBeGreaterThan(1)
  })

  it.each(Object.keys(changes))('fails with not-done if nobody listens: %s', async (name) => {
    server = new SilentServer()
    const timers = await server.open()
    await server.close()
    await expect(changes[name]!(timers, { timeout: 700 })).rejects.toMatchObject({ code: 'not-done' })
  })

  it('fails after the `callTimeout` of the timers', async () => {
    server = new SilentServer()
    const timers = await server.open({ callTimeout: '100ms' })
    await expect(timers.list()).rejects.toMatchObject({ code: 'not-done', message: /100 ms/ })
  })

  it('fails when its signal is aborted, with the reason as the cause', async () => {
    server = new SilentServer()
    const timers = await server.open()
    const abort = new AbortController()
    const setting = timers.set(kind, 'a', { in: '1h', payload: 1 }, { signal: abort.signal })
    const reason = new Error('the user has left')
    abort.abort(reason)
    await expect(setting).rejects.toMatchObject({ cause: reason })
  })

  it('is not sent again after it is over', async () => {
    server = new SilentServer()
    const timers = await server.open()
    await expect(timers.cancel(kind, 'a', { timeout: 50 })).rejects.toMatchObject({ code: 'unknown-outcome' })
    const sent = server.requests.length
    // As long as several retries would take.
    await new Promise((resolve) => setTimeout(resolve, 1000))
    expect(server.requests).toHaveLength(sent)
  })

  it('says for each row of many what happened', async () => {
    server = new SilentServer()
    const timers = await server.open()
    let batches = 0
    server.answerOf = (_, body) => {
      if (++batches > 1) return undefined
      return (JSON.parse(body) as unknown[]).map(() => ({
        outcome: 'set',
        handle: 'h',
        dueAt: 1,
        revision: 1,
      }))
    }
    const rows = Array.from({ length: 12_500 }, (_, n) => ({ key: `k${n}`, in: '1h', payload: n }))
    const error: unknown = await timers
      .setMany(kind, rows, { timeout: '1s' })
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(PartialError)
    const codes = (error as PartialError).rows.map(({ error: failure }) => failure?.code ?? 'set')
    expect(codes).toEqual([
      ...rows.slice(0, 5000).map(() => 'set'),
      ...rows.slice(0, 5000).map(() => 'unknown-outcome'),
    ])
    expect(error).toMatchObject({ untried: 2500 })
  })
})
