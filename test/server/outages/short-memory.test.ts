import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it } from 'vitest'
import { CliProcess } from '../../cli/cli-process.js'
import { until } from '../../eventually.js'

const TIMERS = 8000
const ROWS = 1000
/** Without a smaller `maxTimers`, these timers end the process: their names and tags alone have 14 MB. */
const HEAP_MB = 48

// It takes several seconds of processor time: `npm run chaos -- outages` runs it.
it.runIf(process.env['CARILLON_OUTAGE_MS'] !== undefined)(
  'a server with little memory keeps 8,000 timers that cannot start in the store, and fires the others',
  async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'carillon-memory-'))
    const args = ['serve', '--store', `file:${folder}/data`, '--port', '0', '--auth', 'false']
    await using server = new CliProcess([...args, '--log-level', 'error', '--engine-max-timers', '500'], {
      env: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}` },
    })
    const url = await server.waitForOutput(/http:\/\/127\.0\.0\.1:\d+/)
    const call = async (method: string, route: string, body?: unknown): Promise<{ text: string }> => {
      const response = await fetch(url + route, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      expect(response.status).toBe(200)
      return { text: await response.text() }
    }
    const tags = Array.from({ length: 14 }, (_, n) => `${'t'.repeat(100)}${n}`)
    for (let n = 0; n < TIMERS; n += ROWS) {
      const row = (_: unknown, at: number) => ({
        kind: 'stuck',
        key: 'k'.repeat(400) + (n + at),
        in: 0,
        tags: tags.map((tag) => `${tag}-${n + at}`),
      })
      await call('POST', '/v1/batch', Array.from({ length: ROWS }, row))
    }
    await call('PUT', '/v1/timers/hello/x', { in: 0 })
    await until('the other timer has fired', async () =>
      (await call('GET', '/v1/timers/hello/x')).text.includes('"settled"'),
    )
    const { text } = await call('GET', '/metrics')
    expect(Number(/^carillon_put_back_total (\d+)$/m.exec(text)![1])).toBeGreaterThan(0)
    expect(Number(/^carillon_timers_pending (\d+)$/m.exec(text)![1])).toBeGreaterThanOrEqual(TIMERS)
    server.child.kill('SIGTERM')
    await server.ended
    rmSync(folder, { recursive: true, force: true })
  },
)
