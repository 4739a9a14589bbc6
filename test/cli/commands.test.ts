import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { every } from '../../src/schedule/index.js'
import { freePorts } from '../servers/free-ports.js'
import { TestServer } from '../server/test-server.js'
import { runProcess } from './cli-process.js'
import { type CliResult, runCli } from './run-cli.js'

let served: TestServer

beforeAll(async () => {
  served = await TestServer.start({ history: 'all' })
})

afterAll(async () => {
  await served.server.stop()
})

/** Runs a command line in this process, against the server. */
function run(
  words: readonly string[],
  more: { input?: readonly string[]; env?: Record<string, string> } = {},
): Promise<CliResult> {
  const env = { CARILLON_URL: served.url, CARILLON_KEY: served.token, ...more.env }
  return runCli(words, { ...more, env })
}

describe('the command line', () => {
  it('sets, gets, moves, fires and cancels a timer', async () => {
    const set = await run([
      'set',
      'remind',
      'order:7',
      '--in',
      '5m',
      '--payload',
      '{"orderId":"7"}',
      '--tags',
      'a,b',
    ])
    expect([set.code, set.out]).toEqual([0, expect.stringMatching(/^set remind order:7, due \d{4}-/)])
    const got = await run(['get', 'remind', 'order:7', '--json'])
    expect(JSON.parse(got.out)).toMatchObject({ key: 'order:7', tags: ['a', 'b'], payload: { orderId: '7' } })
    expect((await run(['move', 'remind', 'order:7', '--in', '1h'])).out).toBe('moved\n')
    const stale = await run(['move', 'remind', 'order:7', '--in', '1h', '--if-revision', '9999'])
    expect([stale.code, stale.err]).toEqual([3, expect.stringContaining('(revision-conflict)')])
    expect((await run(['cancel', 'remind', 'order:7'])).out).toBe('cancelled\n')
    const gone = await run(['cancel', 'remind', 'order:7'])
    expect([gone.code, gone.err]).toEqual([3, expect.stringContaining('(timer-unknown)')])
    expect((await run(['set', 'remind', 'x', '--in', 'soon'])).code).toBe(2)
    expect((await run(['set', 'remind', 'x', '--payload', '{'])).err).toContain('--payload must be JSON')
    await run(['set', 'hello', 'now', '--in', '1h'])
    expect((await run(['fire', 'hello', 'now'])).out).toBe('fired\n')
    expect((await run(['why', 'hello', 'now'])).out).toMatch(/^\d{4}-.* set, due /)
  })

  it('ends a recurring timer that fires', async () => {
    await served.call('PUT', '/v1/targets/work', { type: 'lease' })
    await run(['set', 'work', 'a', '--on', JSON.stringify(every('1h'))])
    await run(['fire', 'work', 'a'])
    const leased = await served.call('POST', '/v1/leases', { kinds: ['work'], waitMs: 5000 })
    expect((await run(['cancel', 'work', 'a'])).out).toBe('ending\n')
    const [{ receipt }] = leased.body.firings
    expect((await served.call('POST', `/v1/leases/${receipt}/ack`, { end: true })).status).toBe(200)
    expect((await run(['get', 'work', 'a'])).out).toContain('  settled  ')
  })

  it('lists timers and forecasts how many are due', async () => {
    for (let n = 0; n < 3; n++) await run(['set', 'many', `k${n}`, '--in', '30m'])
    const listed = await run(['list', '--kind', 'many', '--json'])
    expect(listed.out.trim().split('\n')).toHaveLength(3)
    expect((await run(['list', '--kind', 'many', '--limit', '2'])).out.trim().split('\n')).toHaveLength(2)
    const forecast = await run(['forecast', '--kind', 'many', '--over', '1h', '--slice', '20m'])
    expect(forecast.out.trimEnd().split('\n')[1]).toMatch(/Z {2}3 {2}#{50}$/)
  })

  it('pauses and resumes timers, lists and redrives dead letters', async () => {
    expect((await run(['pause', 'hello'])).out).toBe('paused\n')
    expect((await run(['resume', 'hello'])).out).toBe('resumed\n')
    await run(['set', 'hello', 'p', '--in', '1h'])
    expect((await run(['pause', 'hello', 'p'])).out).toBe('paused\n')
    expect(JSON.parse((await run(['get', 'hello', 'p', '--json'])).out)).toMatchObject({ state: 'paused' })
    expect((await run(['dead'])).code).toBe(0)
    expect((await run(['redrive', '--all'])).out).toBe(
      '0 set again, 0 of them under a new key because theirs is in use\n',
    )
    expect((await run(['redrive'])).code).toBe(2)
    expect((await run(['redrive', 'x', '--all'])).code).toBe(2)
  })

  it('verifies a store that is whole, and exits with 0', async () => {
    const { code, out } = await run(['verify'])
    expect([code, out]).toEqual([0, expect.stringMatching(/^whole: created \d+ = pending \d+ \+ settled /)])
  })

  it('exports timers as lines that import reads, and reports bad lines by their number', async () => {
    await run(['set', 'moving', 'once', '--at', '2030-01-01T00:00:00Z', '--payload', '[1]', '--tags', 't'])
    await run(['set', 'moving', 'daily', '--on', '0 9 * * *'])
    const exported = await run(['export', '--kind', 'moving'])
    const lines = exported.out.trim().split('\n')
    expect(lines).toHaveLength(2)
    expect(exported.err).toContain('2 timers written')
    await using other = await TestServer.start()
    const env = { CARILLON_URL: other.url, CARILLON_KEY: other.token }
    const imported = await run(['import'], { input: [...lines, ''], env })
    expect([imported.code, imported.out]).toEqual([0, '2 set\n'])
    const twice = await run(['import'], { input: [...lines, ''], env })
    expect(twice.out.trim().split(', ').toSorted()).toEqual(['1 set', '1 unchanged'])
    const again = await run(['export', '--kind', 'moving'], { env })
    expect(again.out.trim().split('\n').toSorted()).toEqual(lines.toSorted())
    const once = lines.find((line) => line.includes('"key":"once"'))!
    const bad = await run(['import'], { input: [once, 'nonsense', '{"kind":"moving"}'], env })
    expect([bad.code, bad.out]).toEqual([1, '1 set, 2 refused\n'])
    expect(bad.err).toMatch(/line 2: .*\nline 3: /)
  })

  it('makes, lists and revokes keys, of a server and of a store', async () => {
    const made = JSON.parse(
      (await run(['keys', 'create', '--name', 'cli', '--scope', 'read', '--json'])).out,
    ) as {
      key: { id: string }
      token: string
    }
    expect((await run(['list'], { env: { CARILLON_KEY: made.token } })).code).toBe(0)
    const refused = await run(['pause'], { env: { CARILLON_KEY: made.token } })
    expect([refused.code, refused.err]).toEqual([4, expect.stringContaining('(forbidden)')])
    expect((await run(['keys', 'list'])).out).toContain(`${made.key.id}  cli: read, all namespaces`)
    expect((await run(['keys', 'revoke', made.key.id])).out).toBe('revoked\n')
    expect((await run(['list'], { env: { CARILLON_KEY: made.token } })).code).toBe(4)
    const folder = mkdtempSync(path.join(tmpdir(), 'carillon-keys-'))
    const store = `file:${path.join(folder, 'data')}`
    try {
      const own = await run([
        'keys',
        'create',
        '--name',
        'mine',
        '--scope',
        'admin',
        '--store',
        store,
        '--json',
      ])
      const { token } = JSON.parse(own.out) as { token: string }
      await using other = await TestServer.start({ store })
      expect(other.server.firstToken).toBeUndefined()
      const env = { CARILLON_URL: other.url, CARILLON_KEY: token }
      expect((await run(['keys', 'list'], { env })).out).toContain('mine: admin')
      const busy = await run(['keys', 'list', '--store', store])
      expect([busy.code, busy.err]).toEqual([1, expect.stringContaining('(store-in-use)')])
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('shows the next occurrences of a schedule without a server', async () => {
    const { code, out } = await run(['next', '30 2 * * *', '--zone', 'Europe/Paris', '--count', '2'])
    expect(code).toBe(0)
    expect(out.trim().split('\n')).toHaveLength(3)
    expect((await run(['next', '61 * * * *'])).err).toContain('(invalid-cron)')
  })

  it('reports a missing server, a missing key, an unknown option and missing arguments', async () => {
    const [port] = await freePorts(1)
    const nobody = await run(['list', '--url', `http://127.0.0.1:${port}`])
    expect([nobody.code, nobody.err]).toEqual([4, expect.stringContaining('no server answers at')])
    expect((await run(['list'], { env: { CARILLON_KEY: '' } })).code).toBe(4)
    expect((await run(['list', '--kin', 'x'])).code).toBe(2)
    expect((await run(['get', 'remind'])).err).toContain('usage: carillon get <kind> <key>')
    expect((await run([])).code).toBe(2)
  })

  it('prints help with examples for every command, and runs as a program', async () => {
    const { out } = await run(['--help'])
    const names = [...out.matchAll(/^ {2}(\w+) {2,}/gm)].map(([, name]) => name!)
    expect(names).toEqual(expect.arrayContaining(['serve', 'set', 'list', 'why', 'import', 'keys']))
    for (const name of names) {
      const help = await run([name, '--help'])
      expect([name, help.code]).toEqual([name, 0])
      expect(help.out).toMatch(new RegExp(`Examples:\\n {2}carillon ${name}`))
    }
    const env = { CARILLON_URL: served.url, CARILLON_KEY: served.token }
    expect(await runProcess(['set', 'hello', 'program', '--in', '1h'], { env })).toMatchObject({
      code: 0,
      err: '',
    })
    const input = '{"kind":"hello","key":"piped","in":"1h"}\n'
    expect(await runProcess(['import'], { env, input })).toMatchObject({ code: 0, out: '1 set\n' })
  })
})
