import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openTimers, timer } from '../../src/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { decodeDetails } from '../../src/timer/index.js'
import { eventually } from '../eventually.js'
import { TestServer } from '../server/test-server.js'

const exporter = new InMemorySpanExporter()
const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const ring = timer<number>('ring', { retry: { attempts: 3, backoff: '1ms' } })

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  )
})

afterAll(() => {
  trace.disable()
  context.disable()
})

beforeEach(() => exporter.reset())

function spansOf(name: string) {
  return exporter.getFinishedSpans().filter((span) => span.name === name)
}

/** Takes webhooks and keeps their headers. */
async function receiver() {
  const headers: (string | undefined)[] = []
  const server = createServer((request, response) => {
    headers.push(request.headers['traceparent'] as string | undefined)
    request.resume().on('end', () => response.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    headers,
    port,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

describe('a traced timer', () => {
  it('has one trace from the request that set it to its webhook', async () => {
    await using hooks = await receiver()
    const guard = { http: true, ports: [hooks.port], addresses: ['127.0.0.0/8'] }
    await using served = await TestServer.start({ tracing: true, guard, auth: false })
    const url = `http://127.0.0.1:${hooks.port}/hook`
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    await served.call('PUT', '/v1/targets/remind', { type: 'webhook', url, secret })
    await served.call('PUT', '/v1/timers/remind/a', { in: 0, payload: 1 }, { traceparent: PARENT })
    await eventually(() => expect([hooks.headers.length, spansOf('deliver remind').length]).toEqual([1, 1]))
    const [set] = spansOf('set remind')
    const [deliver] = spansOf('deliver remind')
    expect(set!.spanContext().traceId).toBe(PARENT.split('-')[1])
    expect(set!.parentSpanContext?.spanId).toBe(PARENT.split('-')[2])
    expect(deliver!.parentSpanContext?.spanId).toBe(set!.spanContext().spanId)
    expect(hooks.headers[0]).toBe(`00-${PARENT.split('-')[1]}-${deliver!.spanContext().spanId}-01`)
    expect(deliver!.attributes).toMatchObject({
      'carillon.key': 'a',
      'carillon.attempt': 1,
      'carillon.outcome': 'done',
    })
  })

  it('has a span for each attempt, and its handler runs within it', async () => {
    await using timers = await openTimers({ store: 'memory:', tracing: true })
    const seen: { span: string | undefined; told: string | undefined }[] = []
    timers.handle(ring, (firing) => {
      seen.push({ span: trace.getActiveSpan()?.spanContext().spanId, told: firing.traceparent })
      if (firing.attempt === 1) throw new Error('not yet')
    })
    await timers.start()
    const tracer = trace.getTracer('test')
    const outer = await tracer.startActiveSpan('outer', async (span) => {
      await timers.set(ring, 'a', { in: 0, payload: 1 })
      span.end()
      return span.spanContext()
    })
    await eventually(() => expect(spansOf('deliver ring')).toHaveLength(2))
    const delivered = spansOf('deliver ring')
    expect(delivered.map((span) => span.spanContext().traceId)).toEqual([outer.traceId, outer.traceId])
    expect(delivered.map(({ status }) => status.code)).toEqual([2, 0])
    expect(seen.map(({ span }) => span)).toEqual(delivered.map((span) => span.spanContext().spanId))
    for (const { span, told } of seen) expect(told).toContain(span)
    expect(spansOf('set ring')[0]!.parentSpanContext?.spanId).toBe(outer.spanId)
  })

  it('keeps its own traceparent, even if the same call sets timers with other ones', async () => {
    await using timers = await openTimers({ store: 'memory:', tracing: true })
    const traces = new Map<string, string | undefined>()
    timers.handle(ring, ({ key, traceparent }) => void traces.set(key, traceparent?.split('-')[1]))
    await timers.start()
    const other = PARENT.replace('0af7', '1bf8')
    await timers.setMany(ring, [
      { key: 'a', in: 0, payload: 1, traceparent: PARENT },
      { key: 'b', in: 0, payload: 2, traceparent: other },
    ])
    await eventually(() => expect(traces.size).toBe(2))
    expect([traces.get('a'), traces.get('b')]).toEqual([PARENT.split('-')[1], other.split('-')[1]])
  })

  it('does not join the trace of another timer of the same call', async () => {
    await using timers = await openTimers({ store: 'memory:', tracing: true })
    const traces = new Map<string, string | undefined>()
    timers.handle(ring, ({ key, traceparent }) => void traces.set(key, traceparent?.split('-')[1]))
    await timers.start()
    const outer = await trace.getTracer('test').startActiveSpan('outer', async (span) => {
      await timers.setMany(ring, [
        { key: 'a', in: 0, payload: 1, traceparent: PARENT },
        { key: 'b', in: 0, payload: 2 },
      ])
      span.end()
      return span.spanContext()
    })
    await eventually(() => expect(traces.size).toBe(2))
    expect([traces.get('a'), traces.get('b')]).toEqual([PARENT.split('-')[1], outer.traceId])
    expect(spansOf('set ring')[0]!.parentSpanContext?.spanId).toBe(outer.spanId)
  })

  it('is a child of the call that set it if all its timers have the same traceparent', async () => {
    await using timers = await openTimers({ store: 'memory:', tracing: true })
    timers.handle(ring, () => undefined)
    await timers.start()
    await timers.setMany(
      ring,
      ['a', 'b'].map((key) => ({ key, in: 0, payload: 1, traceparent: PARENT })),
    )
    await eventually(() => expect(spansOf('deliver ring')).toHaveLength(2))
    const [set] = spansOf('set ring')
    expect(set!.parentSpanContext?.spanId).toBe(PARENT.split('-')[2])
    for (const { parentSpanContext } of spansOf('deliver ring'))
      expect(parentSpanContext?.spanId).toBe(set!.spanContext().spanId)
  })

  it.each([['nonsense'], [5 as unknown as string], [null as unknown as string]])(
    'is refused with an invalid traceparent: %s',
    async (traceparent) => {
      await using timers = await openTimers({ store: 'memory:', tracing: true })
      await expect(timers.set(ring, 'a', { in: 0, payload: 1, traceparent })).rejects.toMatchObject({
        code: 'invalid-option',
      })
    },
  )

  it('marks the span of a call that was refused', async () => {
    await using timers = await openTimers({ store: 'memory:', tracing: true, alone: true })
    await timers.setQuota({ maxTimers: 0 })
    await expect(timers.set(ring, 'a', { in: 0, payload: 1 })).rejects.toMatchObject({
      code: 'quota-exceeded',
    })
    expect(spansOf('set ring')[0]!.status).toMatchObject({ code: 2 })
  })
})

describe('a timer without tracing', () => {
  it('still passes its traceparent to its handler and its webhook, without a span', async () => {
    await using hooks = await receiver()
    const guard = { http: true, ports: [hooks.port], addresses: ['127.0.0.0/8'] }
    await using served = await TestServer.start({ guard, auth: false })
    const url = `http://127.0.0.1:${hooks.port}/hook`
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    await served.call('PUT', '/v1/targets/remind', { type: 'webhook', url, secret })
    await served.call('PUT', '/v1/timers/remind/a', { in: 0 }, { traceparent: PARENT })
    await eventually(() => expect(hooks.headers).toEqual([PARENT]))
    await served.call('PUT', '/v1/timers/remind/b', { in: 0, traceparent: PARENT.replace('-01', '-00') })
    await eventually(() => expect(hooks.headers.at(-1)).toBe(PARENT.replace('-01', '-00')))
    // An invalid header is ignored, as W3C Trace Context asks.
    await served.call('PUT', '/v1/timers/remind/c', { in: 0 }, { traceparent: 'nonsense' })
    await eventually(() => expect(hooks.headers).toEqual([PARENT, PARENT.replace('-01', '-00'), undefined]))
    expect(exporter.getFinishedSpans()).toEqual([])
  })

  it.each([['application/json'], ['application/x-ndjson']])(
    'keeps the traceparent of its batch, unless its row has one: %s',
    async (type) => {
      const store = new MemoryStore()
      await using served = await TestServer.start({ store, auth: false })
      const other = PARENT.replace('0af7', '1bf8')
      const rows = [
        { kind: 'remind', key: 'a', in: '1h' },
        { kind: 'remind', key: 'b', in: '1h', traceparent: other },
        { do: 'move', kind: 'remind', key: 'b', in: '2h' },
      ]
      const isList = type === 'application/json'
      const body = isList ? rows : rows.map((row) => `${JSON.stringify(row)}\n`).join('')
      const batch = await served.call('POST', '/v1/batch', body, {
        'content-type': type,
        traceparent: PARENT,
      })
      expect(batch.text).toMatch(/"set".+"set".+"moved"/s)
      const names = ['a', 'b'].map((key) => ({ namespace: 'default', kind: 'remind', key }))
      const kept = (await store.find(names)).map((row) => decodeDetails(row!.details).trace)
      expect(kept).toEqual([PARENT, other])
    },
  )

  it('is refused with an invalid traceparent as an option', async () => {
    await using timers = await openTimers({ store: 'memory:' })
    const set = timers.set(ring, 'a', { in: 0, payload: 1, traceparent: 'nonsense' })
    await expect(set).rejects.toMatchObject({ code: 'invalid-option' })
  })
})
