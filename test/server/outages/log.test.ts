import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/time/index.js'
import { DownStore } from '../../front/down-store.js'
import { TestServer } from '../test-server.js'

interface Line {
  readonly level: number
  readonly msg: string
  readonly route?: string
  readonly leftOut?: number
}

const WARN = 40
const REQUESTS = 100

let server: TestServer | undefined

afterEach(async () => {
  await server?.server.stop()
})

describe('the log of a server whose store is away', () => {
  it('has one line for each cause, whatever the number of shards, calls and requests', async () => {
    const lines: Line[] = []
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
    const down = new DownStore(systemClock, { shardCount: 16 })
    // Everything that an idle server does by itself happens many times while the test runs.
    const engine = {
      heartbeatMs: 20,
      acquireMs: 20,
      retryMs: 5,
      leaseMs: 400,
      leaseMarginMs: 50,
      stallMs: 50,
      settleMs: 20,
    }
    server = await TestServer.start({ store: down.store, logger, callTimeoutMs: 200, engine })
    for (let n = 0; n < 20; n++) await server.call('PUT', `/v1/timers/kind/k${n}`, { in: 100 })
    down.isUnavailable = true
    const asking = server
    const requests = Array.from({ length: REQUESTS }, async (_, n) => {
      await asking.call('PUT', `/v1/timers/kind/new${n}`, { in: '1h' })
      return await asking.call('GET', `/v1/timers/kind/k${n}`)
    })
    expect((await Promise.all(requests)).map(({ status }) => status)).toEqual(
      Array.from({ length: REQUESTS }, () => 503),
    )
    await new Promise((resolve) => setTimeout(resolve, 1000))
    down.comeBack()
    const warnings = lines.filter(({ level }) => level >= WARN)
    const ofRequests = warnings.filter(({ route }) => route !== undefined)
    expect(ofRequests).toHaveLength(2)
    expect(new Set(ofRequests.map(({ route }) => route))).toEqual(
      new Set(['GET /v1/timers/:kind/:key', 'PUT /v1/timers/:kind/:key']),
    )
    // The calls of the store are no more than the causes.
    expect(new Set(down.calls).size * 2 + 4).toBeGreaterThan(warnings.length)
    expect(down.calls.length).toBeGreaterThan(5 * warnings.length)
  })
})
