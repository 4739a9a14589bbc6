import { createServer } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { type EngineStats, LatenessHistogram } from '../../../src/engine/index.js'
import { MAX_METRIC_KINDS } from '../../../src/server/defaults.js'
import { kindMetrics } from '../../../src/server/monitor/kind-metrics.js'
import type { Timers } from '../../../src/front/index.js'
import { StoreGauges } from '../../../src/server/monitor/store-gauges.js'
import { MemoryStore, type Store } from '../../../src/store/index.js'
import { systemClock, VirtualClock } from '../../../src/time/index.js'
import { until } from '../../eventually.js'
import { DownStore } from '../../front/down-store.js'
import { FileFixture } from '../store-fixtures.js'
import { TestServer } from '../test-server.js'

let server: TestServer

afterEach(async () => {
  await server?.server.stop()
})

async function start(): Promise<DownStore> {
  const down = new DownStore(systemClock, { shardCount: 2 })
  server = await TestServer.start({ store: down.store })
  return down
}

/** The value of a line of `/metrics`; undefined if there is none. */
async function valueOf(line: string): Promise<number | undefined> {
  const { text } = await server.call('GET', '/metrics')
  const found = text.split('\n').find((each) => each.startsWith(`${line} `))
  return found === undefined ? undefined : Number(found.slice(line.length + 1))
}

describe('/metrics', () => {
  it.each(['hangs', 'cannot be reached'])('answers while the store %s, without its counts', async (how) => {
    const down = await start()
    await server.call('PUT', '/v1/timers/hello/1', { in: '1h' })
    expect(await valueOf('carillon_store_up')).toBe(1)
    expect(await valueOf('carillon_timers_pending')).toBe(1)
    expect(await valueOf('carillon_ready')).toBe(1)
    if (how === 'hangs') down.hang()
    else down.isUnavailable = true
    const { status, text } = await server.call('GET', '/metrics')
    expect(status).toBe(200)
    expect(text).toContain('\ncarillon_store_up 0\n'.trimStart())
    expect(text).toContain('\ncarillon_ready 0\n')
    expect(text).not.toContain('carillon_timers_pending')
    expect(text).toContain('\ncarillon_fired_total ')
    down.comeBack()
  })

  it('counts the errors of store calls by their code', async () => {
    const down = await start()
    await server.call('PUT', '/v1/timers/hello/1', { in: '1h' })
    down.isUnavailable = true
    expect((await server.call('GET', '/v1/timers/hello/1')).status).toBe(503)
    down.comeBack()
    const { text } = await server.call('GET', '/metrics')
    expect(text).toMatch(/carillon_store_errors_total\{call="\w+",code="store-unavailable"\} [1-9]/)
    expect(text).toMatch(/carillon_store_calls_total\{call="write"\} [1-9]/)
  })

  it('shows what waits and what fired by kind and namespace', async () => {
    await start()
    await server.call('PUT', '/v1/timers/hello/1', { in: 0 })
    await server.call('PUT', '/v1/timers/idle/1', { in: 0 })
    const done = 'carillon_kind_ended_total{namespace="default",kind="hello",outcome="done"}'
    await until('the timer has fired', async () => (await valueOf(done)) === 1)
    const idle = '{namespace="default",kind="idle"}'
    await until('the other one waits', async () => (await valueOf(`carillon_kind_waiting${idle}`)) === 1)
    expect(await valueOf(`carillon_kind_open${idle}`)).toBe(0)
    expect(await valueOf('carillon_kind_open{namespace="default",kind="hello"}')).toBe(1)
    expect(await valueOf('carillon_kind_fired_total{namespace="default",kind="hello"}')).toBe(1)
    await until('it is overdue', async () => (await valueOf(`carillon_kind_overdue_seconds${idle}`))! > 0)
  })

  it('shows pauses, targets, answers and durations by kind, and the breaker of a target that fails', async () => {
    const receiver = createServer((request, response) => {
      response.writeHead(request.url === '/good' ? 204 : 503).end()
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    const { port } = receiver.address() as { port: number }
    server = await TestServer.start({ guard: { http: true, ports: [port], addresses: ['127.0.0.0/8'] } })
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    const retry = { attempts: 20, backoff: '1ms' }
    for (const kind of ['good', 'bad']) {
      const url = `http://127.0.0.1:${port}/${kind}`
      await server.call('PUT', `/v1/targets/${kind}`, { type: 'webhook', url, secret, retry })
      for (let n = 0; n < 10; n++) await server.call('PUT', `/v1/timers/${kind}/k${n}`, { in: 0 })
    }
    await server.call('PUT', '/v1/timers/nobody/1', { in: '1h' })
    await server.call('POST', '/v1/pause', { kind: 'nobody' })
    const of = (metric: string, kind: string, more = ''): Promise<number | undefined> =>
      valueOf(`carillon_kind_${metric}{namespace="default",kind="${kind}"${more}}`)
    await until('all are answered', async () => (await of('answers_total', 'good', ',class="2xx"')) === 10)
    expect(await of('attempt_seconds_count', 'good')).toBe(10)
    expect(await of('attempt_seconds_bucket', 'good', ',le="60"')).toBe(10)
    await until('the breaker opens', async () => (await of('breaker_open', 'bad')) === 1)
    expect(await of('answers_total', 'bad', ',class="5xx"')).toBeGreaterThan(0)
    expect(await of('breaker_open', 'good')).toBe(0)
    expect([await of('paused', 'nobody'), await of('paused', 'good')]).toEqual([1, 0])
    expect([await of('handled', 'nobody'), await of('handled', 'good')]).toEqual([0, 1])
    receiver.close()
  })

  it('shows the dead letters of now, inboxes with requests, and leases with the workers that wait', async () => {
    const store = new MemoryStore()
    server = await TestServer.start({ store })
    await server.call('PUT', '/v1/targets/work', { type: 'lease', duration: '1h' })
    await server.call('PUT', '/v1/timers/work/1', { in: 0 })
    await server.call('PUT', '/v1/timers/work/2', { in: 0 })
    const lease = async () =>
      (await server.call('POST', '/v1/leases', { kinds: ['work'], waitMs: 20_000 })).body.firings[0]
    const first = await lease()
    await server.call('POST', `/v1/leases/${first.receipt}/release`, { dead: true, reason: 'no use' })
    await lease()
    const waiting = server.call('POST', '/v1/leases', { kinds: ['work'], waitMs: 20_000 })
    await until('the dead letter is stored', async () => (await valueOf('carillon_dead_letters')) === 1)
    await until('a worker waits', async () => (await valueOf('carillon_workers_waiting')) === 1)
    expect(await valueOf('carillon_worker_leases')).toBe(1)
    expect(await valueOf('carillon_inboxes_waiting')).toBe(0)
    expect(await valueOf('carillon_inbox_age_seconds')).toBe(0)
    const [letter] = (await server.call('GET', '/v1/dead')).body.items
    await server.call('DELETE', `/v1/dead/${letter.id}`)
    expect(await valueOf('carillon_dead_letters')).toBe(0)
    await server.call('PUT', '/v1/timers/work/3', { in: 0 })
    expect((await waiting).status).toBe(200)
  })

  it('shows for how long the inbox of a shard has had requests', async () => {
    const clock = new VirtualClock()
    let busy = [2]
    const store = {
      mode: 'owned',
      countDead: () => Promise.resolve(0),
      busyInboxes: () => Promise.resolve(busy),
    }
    const timers = { bounded: (_: unknown, call: () => unknown) => call() }
    const gauges = new StoreGauges(timers as unknown as Timers, store as unknown as Store, clock)
    const age = async (): Promise<string | undefined> =>
      (await gauges.lines({})).find((line) => line.startsWith('carillon_inbox_age_seconds '))
    expect(await age()).toBe('carillon_inbox_age_seconds 0')
    await clock.advance(30_000)
    busy = [1, 2]
    expect(await age()).toBe('carillon_inbox_age_seconds 30')
    await clock.advance(30_000)
    busy = [1]
    expect(await age()).toBe('carillon_inbox_age_seconds 30')
  })

  it('shows the size of a file store and the free space of its disk', async () => {
    const file = new FileFixture()
    await file.start()
    server = await TestServer.start({ store: file.url })
    expect(await valueOf('carillon_file_bytes')).toBeGreaterThan(8192)
    expect(await valueOf('carillon_file_free_bytes')).toBeGreaterThan(0)
    await server.server.stop()
    await file.stop()
  })

  it('counts lateness from when a timer was accepted, if it was due before', async () => {
    await start()
    await server.call('PUT', '/v1/timers/hello/1', { at: '2020-01-01T00:00:00Z' })
    await until('the timer has fired', async () => (await valueOf('carillon_lateness_seconds_count')) === 1)
    // From the due time, it would be more than 200 million.
    expect(await valueOf('carillon_lateness_seconds_sum')).toBeLessThan(3600)
  })

  it('names the build, and shows the start, the processor time and the open files of the process', async () => {
    await start()
    const { text } = await server.call('GET', '/metrics')
    expect(text).toMatch(/carillon_build_info\{version="[\d.]+",node="v\d+[\d.]+"\} 1\n/)
    expect(await valueOf('process_start_time_seconds')).toBeLessThan(Date.now() / 1000)
    expect(await valueOf('process_cpu_seconds_total')).toBeGreaterThan(0)
    await until('all shards have an owner', async () => (await valueOf('carillon_shards_unowned')) === 0)
    expect(await valueOf('carillon_event_loop_delay_p99_seconds')).toBeGreaterThan(0)
  })

  it('has a limited number of kinds, and adds the others up', () => {
    const kinds = Array.from({ length: MAX_METRIC_KINDS + 50 }, (_, n): EngineStats['kinds'][number] => ({
      namespace: 'default',
      kind: `k${n}`,
      isOpen: true,
      waiting: n,
      overdueMs: 0,
      inFlight: 0,
      started: 1,
      ended: { done: 1, next: 0, retry: 0, dead: 0 },
      lateness: new LatenessHistogram(),
    }))
    const lines = [...kindMetrics(kinds)]
    const waiting = lines.filter((line) => line.startsWith('carillon_kind_waiting{'))
    expect(waiting).toHaveLength(MAX_METRIC_KINDS + 1)
    // The 50 with the fewest: 0 + 1 + … + 49.
    expect(waiting).toContain('carillon_kind_waiting{namespace="",kind="(others)"} 1225')
    expect(lines).toContain('carillon_kind_fired_total{namespace="",kind="(others)"} 50')
  })
})
