import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runProcess, CliProcess } from './cli-process.js'

let folder = ''

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'carillon-cli-'))
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

describe('carillon serve', () => {
  it('prints its URL and a curl that makes a timer fire, and keeps timers and keys over a restart', async () => {
    const cwd = mkdtempSync(path.join(folder, 'first-'))
    let command = ''
    {
      await using server = new CliProcess(['serve', '--port', '0'], { cwd })
      await server.waitForOutput(/curl .*\n/)
      const [first] = /http:\/\/\S+/.exec(server.out)!
      expect(first).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
      expect(server.out.indexOf('/docs')).toBeGreaterThan(server.out.indexOf(first))
      expect(server.out + server.err).not.toContain('\u001b')
      command = /curl .*/.exec(server.out)![0]
      const done = spawnSync('sh', ['-c', command], { encoding: 'utf8' })
      expect(JSON.parse(done.stdout)).toMatchObject({ outcome: 'set', kind: 'hello', key: 'world' })
      await server.waitForOutput(/hello world fired/)
      expect(server.err).toContain('"payload":"it works"')
      const key = /ck_\w+-*\S*/.exec(command)![0].replace('"', '')
      expect(server.err).not.toContain(key)
      const far = command.replace('"in":"3s"', '"in":"1h"').replace('hello/world', 'hello/later')
      expect(spawnSync('sh', ['-c', far]).status).toBe(0)
      server.child.kill('SIGTERM')
      expect(await server.ended).toBe(0)
      expect(server.err).toContain('stopped')
    }
    expect(readdirSync(cwd)).toEqual(['carillon-data'])
    await using again = new CliProcess(['serve', '--port', '0'], { cwd })
    await again.waitForOutput(/curl .*\n/)
    expect(again.out).not.toContain('first key')
    const url = /http:\/\/\S+/.exec(again.out)![0]
    const authorization = /Bearer ck_[^"]+/.exec(command)![0]
    const timer = await fetch(`${url}/v1/timers/hello/later`, { headers: { authorization } })
    expect(timer.status).toBe(200)
    // Only one process may open the folder.
    const other = await runProcess(['serve', '--port', '0'], { cwd })
    expect([other.code, other.err]).toEqual([1, expect.stringContaining('(store-in-use)')])
  })

  it('prefers flags to the environment, and the environment to the file', async () => {
    const cwd = mkdtempSync(path.join(folder, 'config-'))
    const file = { store: 'memory:', port: 1, host: '127.0.0.9', auth: false, logLevel: 'silent' }
    writeFileSync(path.join(cwd, 'carillon.json'), JSON.stringify(file))
    await using server = new CliProcess(['serve', '--port', '0'], {
      cwd,
      env: { CARILLON_SERVE_HOST: '127.0.0.1', CARILLON_SERVE_PORT: '2' },
    })
    await server.waitForOutput(/curl .*\n/)
    expect(server.out).toMatch(/listens on http:\/\/127\.0\.0\.1:(?!1\b|2\b)\d+/)
    expect(server.out).not.toContain('Authorization')
    expect(server.err).toBe('')
  })

  it('refuses unknown settings and bad values with a message, and exits with 1 or 2', async () => {
    const file = path.join(folder, 'bad.json')
    writeFileSync(file, '{"prot":1}')
    const [flag, named, environment, value, host, command] = await Promise.all([
      runProcess(['serve', '--prot', '1']),
      runProcess(['serve', '--config', file]),
      runProcess(['serve'], { env: { CARILLON_SERVE_PROT: '1' } }),
      runProcess(['serve', '--port', 'http']),
      runProcess(['serve', '--store', 'memory:', '--host', '0.0.0.0', '--auth', 'false']),
      runProcess(['sevre']),
    ])
    expect([flag.code, flag.err]).toEqual([2, expect.stringContaining('--prot')])
    expect([named.code, named.err]).toEqual([2, expect.stringContaining('"prot"')])
    expect([environment.code, environment.err]).toEqual([2, expect.stringContaining('CARILLON_SERVE_PROT')])
    expect([value.code, value.err]).toEqual([2, expect.stringContaining('port must be an integer')])
    expect([host.code, host.err]).toEqual([1, expect.stringContaining('(off-loopback)')])
    expect([command.code, command.err]).toEqual([2, expect.stringContaining('"sevre"')])
  })

  it('exits with port-busy when another program has the port', async () => {
    const holder = createServer()
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve))
    const { port } = holder.address() as { port: number }
    const { code, err } = await runProcess(['serve', '--store', 'memory:', '--port', String(port)])
    expect([code, err]).toEqual([1, expect.stringContaining('(port-busy)')])
    expect(err.trim().split('\n').at(-1)).toMatch(/^carillon: 127\.0\.0\.1:\d+ is already in use/)
    holder.close()
  })

  it('answers open requests before it stops', async () => {
    await using server = new CliProcess(['serve', '--store', 'memory:', '--port', '0', '--auth', 'false'])
    await server.waitForOutput(/curl .*\n/)
    const url = /http:\/\/\S+/.exec(server.out)![0]
    const answers = Array.from({ length: 50 }, async (_, n) => {
      const answer = await fetch(`${url}/v1/timers/a/${n}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: '{"in":"1h"}',
      })
      return answer.status
    })
    await Promise.race(answers)
    server.child.kill('SIGINT')
    const statuses = await Promise.allSettled(answers)
    expect(await server.ended).toBe(0)
    // Each request was answered or refused: none was done without an answer.
    for (const status of statuses) {
      expect(status.status === 'rejected' || status.value === 200 || status.value === 503).toBe(true)
    }
  })

  it('prints its options and examples with --help', async () => {
    const { code, out } = await runProcess(['serve', '--help'])
    expect(code).toBe(0)
    expect(out).toContain('CARILLON_SERVE_PORT')
    expect(out).toMatch(/Examples:\n {2}carillon serve/)
  })
})
