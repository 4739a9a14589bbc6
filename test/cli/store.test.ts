import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FilePlace, PostgresPlace, RedisPlace, type StorePlace } from '../server/store-places.js'
import { eventually } from '../eventually.js'
import { Served } from '../server/served.js'
import { spoken } from './spoken.js'

const places: readonly StorePlace[] = [new FilePlace(), new PostgresPlace(), new RedisPlace()]

for (const place of places) {
  describe(`commands on a ${place.name} store itself`, () => {
    beforeAll(async () => {
      await place.start()
      await (await place.open()).stop()
    })
    afterAll(() => place.stop())

    it('set, get, list, move, cancel, pause, forecast, export, import and verify, without a server', async () => {
      const run = (...words: string[]) => spoken([...words, '--store', place.url])
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
      const imported = await spoken(['import', '--store', place.url], {
        input: exported.out.trim().split('\n'),
      })
      expect(imported.out).toBe('1 set\n')
      expect((await run('why', 'remind', 'k1')).code).toBe(0)
      expect((await run('dead')).code).toBe(0)
      expect((await run('verify')).out).toMatch(/^whole: created 3 = pending 2 /)
    })

    it('leave nothing behind that a server would have to wait for, and a server fires what they set', async () => {
      await spoken(['resume', 'remind', '--store', place.url])
      await spoken(['set', 'ring', 'k9', '--in', '0s', '--store', place.url])
      const store = await place.open()
      const served = await Served.start({ store, auth: false })
      try {
        await served.call('PUT', '/v1/targets/ring', { type: 'log' })
        // Sooner than the lease of an instance that did not let go would allow.
        await eventually(async () => {
          const { body } = await served.call('GET', '/v1/statistics')
          expect(body.store.settled).toBe(1)
        }, 8000)
      } finally {
        await served.server.stop()
        await store.stop()
      }
    })

    it('fail clearly while a server has it open', async () => {
      const store = await place.open()
      const served = await Served.start({ store, auth: false })
      try {
        const { code, out, err } = await spoken(['list', '--store', place.url])
        expect([code, out, err]).toEqual([
          1,
          '',
          expect.stringMatching(/(in use by|is already open).*\(store-in-use\)/),
        ])
      } finally {
        await served.server.stop()
        await store.stop()
      }
      expect((await spoken(['list', '--store', place.url])).code).toBe(0)
    })
  })
}

describe('--store', () => {
  it('does not make a store of a misspelt folder, nor take a server beside it', async () => {
    const folder = path.join(tmpdir(), `carillon-nowhere-${process.pid}`)
    const missing = await spoken(['list', '--store', `file:${folder}`])
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('(invalid-store-url)')])
    expect(existsSync(folder)).toBe(false)
    expect((await spoken(['list', '--store', 'memory:'])).err).toContain('(invalid-option)')
    const both = await spoken(['list', '--store', `file:${folder}`, '--url', 'http://127.0.0.1:1'])
    expect(both.err).toContain('not both')
  })
})
