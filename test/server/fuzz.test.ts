import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { Fuzzer } from '../servers/hostile/fuzzer.js'
import { TestServer } from './test-server.js'

const REQUESTS = 400

describe('a server on', () => {
  it.each(['memory:', 'file:'])(
    '%s answers 400 broken requests as it means to, and goes on',
    async (kind) => {
      const folder = mkdtempSync(path.join(tmpdir(), 'carillon-fuzz-'))
      const store = kind === 'file:' ? `file:${path.join(folder, 'data')}` : kind
      {
        await using served = await TestServer.start({ store })
        for (let i = 0; i < 20; i++) await served.call('PUT', `/v1/timers/a/${i}`, { in: '1h', tags: ['t'] })
        const fuzzers = Array.from({ length: 4 }, (_, i) => new Fuzzer(served.url, served.token, 2026 + i))
        await Promise.all(
          fuzzers.map(async (fuzzer) => {
            for (let i = 0; i < REQUESTS / fuzzers.length; i++) await fuzzer.step()
          }),
        )
        expect(fuzzers.flatMap(({ findings }) => findings)).toEqual([])
        // It does reach the handlers: some requests are right.
        expect(fuzzers.reduce((sum, { statuses }) => sum + (statuses.get(200) ?? 0), 0)).toBeGreaterThan(10)
        expect((await served.call('PUT', '/v1/timers/still/here', { in: '1h' })).status).toBe(200)
      }
      rmSync(folder, { recursive: true, force: true })
    },
  )
})
