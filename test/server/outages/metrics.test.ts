import { afterEach, describe, expect, it } from 'vitest'
import { type EngineStats, LatenessHistogram } from '../../../src/engine/index.js'
import { MAX_METRIC_KINDS } from '../../../src/server/defaults.js'
import { kindMetrics } from '../../../src/server/monitor/kind-metrics.js'
import { systemClock } from '../../../src/time/index.js'
import { until } from '../../eventually.js'
import { DownStore } from '../../front/down-store.js'
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
