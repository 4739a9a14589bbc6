import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FileFixture, PostgresFixture, RedisFixture, type StoreFixture } from '../server/store-fixtures.js'
import { eventually } from '../eventually.js'
import { TestServer } from '../server/test-server.js'
import { runCli } from './run-cli.js'

const fixtures: readonly StoreFixture[] = [new FileFixture(), new PostgresFixture(), new RedisFixture()]

for (const fixture of fixtures) {
  describe(`carillon --store on ${fixture.name}`, () => {
    beforeAll(async () => {
      await fixture.start()
      await (await fixture.open()).stop()
    })
    afterAll(() => fixture.stop())

    it('sets, gets, lists, moves, cancels, pauses, forecasts, exports, imports and verifies', async () => {
      const run = (...words: string[]) => runCli([...words, '--store', fixture.url])
      expect((await run('set', 'remind', 'k1', '--in', '1h', '--payload', '7')).out).toContain(
        'set remind k1',
      )
      await run('set', 'remind', 'k2', '--in', '1h', '--namespace', 'other')
      expect(JSON.parse((await run('get', 'remind', 'k1', '--json')).out)).toMatchObject({ payload: 7 })
      expect((await run('get', 'remind', 'k2')).code).toBe(3)
      expect((await run('list', '--namespace', 'other')).out).toContain('remind k2')
      expect((await run('move', 'remind', 'k1', '--in', '2h')).out).toBe('moved\n')
      expect((await run('pause', 'remind')).out).toBe('paused\n')
      expect((await run('forecast', '--over', '3h', '--slice', '1h')).out).toMatch(/ 1 {2}#{50}\n/)
      const exported = await run('export')
      expect((await run('cancel', 'remind', 'k1')).out).toBe('cancelled\n')
      const imported = await runCli(['import', '--store', fixture.url], {
        input: exported.out.trim().split('\n'),
      })
      expect(imported.out).toBe('1 set\n')
      expect((await run('why', 'remind', 'k1')).code).toBe(0)
      expect((await run('dead')).code).toBe(0)
      expect((await run('verify')).out).toMatch(/^whole: created 3 = pending 2 /)
    })

    it('releases its shards, so that a server can fire its timers immediately', async () => {
      await runCli(['resume', 'remind', '--store', fixture.url])
      await runCli(['set', 'ring', 'k9', '--in', '0s', '--store', fixture.url])
      const store = await fixture.open()
      const served = await TestServer.start({ store, auth: false })
      try {
        await served.call('PUT', '/v1/targets/ring', { type: 'log' })
        // 8 s is shorter than the lease of an instance that did not release its shards.
        await eventually(async () => {
          const { body } = await served.call('GET', '/v1/statistics')
          expect(body.store.settled).toBe(1)
        }, 8000)
      } finally {
        await served.server.stop()
        await store.stop()
      }
    })

    it('fails with store-in-use while a server has the store open', async () => {
      const store = await fixture.open()
      const served = await TestServer.start({ store, auth: false })
      try {
        const { code, out, err } = await runCli(['list', '--store', fixture.url])
        expect([code, out, err]).toEqual([
          1,
          '',
          expect.stringMatching(/(in use by|is already open).*\(store-in-use\)/),
        ])
      } finally {
        await served.server.stop()
        await store.stop()
      }
      expect((await runCli(['list', '--store', fixture.url])).code).toBe(0)
    })
  })
}

describe('carillon --store', () => {
  it('does not create a missing folder, and refuses --url besides', async () => {
    const folder = path.join(tmpdir(), `carillon-nowhere-${process.pid}`)
    const missing = await runCli(['list', '--store', `file:${folder}`])
    expect([missing.code, missing.err]).toEqual([2, expect.stringContaining('(invalid-store-url)')])
    expect(existsSync(folder)).toBe(false)
    expect((await runCli(['list', '--store', 'memory:'])).err).toContain('(invalid-option)')
    const both = await runCli(['list', '--store', `file:${folder}`, '--url', 'http://127.0.0.1:1'])
    expect(both.err).toContain('not both')
  })
})
