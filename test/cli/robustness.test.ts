import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configurationOf } from '../../src/cli/configuration.js'
import { TestServer } from '../server/test-server.js'
import { CliProcess } from './cli-process.js'
import { type CliResult, runCli } from './run-cli.js'

let served: TestServer

beforeAll(async () => {
  served = await TestServer.start()
})

afterAll(async () => {
  await served.server.stop()
})

function run(words: readonly string[], env: Record<string, string> = {}): Promise<CliResult> {
  return runCli(words, { env: { CARILLON_URL: served.url, CARILLON_KEY: served.token, ...env } })
}

describe('a reader that goes away', () => {
  it('ends a command quietly with 141, as other programs end', async () => {
    const rows = Array.from({ length: 3000 }, (_, n) => ({
      kind: 'piped',
      key: `k${n}`,
      in: '1h',
      payload: 'x'.repeat(100),
    }))
    expect((await served.call('POST', '/v1/batch', rows)).status).toBe(200)
    await using command = new CliProcess(['export'], {
      env: { CARILLON_URL: served.url, CARILLON_KEY: served.token },
    })
    await command.waitForOutput(/"key"/)
    command.child.stdout!.destroy()
    expect([await command.ended, command.err]).toEqual([141, expect.not.stringContaining('Error')])
  })

  it('does not end a server', async () => {
    await using server = new CliProcess(['serve', '--store', 'memory:', '--port', '0', '--auth', 'false'])
    await server.waitForOutput(/curl .*\n/)
    const url = /http:\/\/\S+/.exec(server.out)![0]
    server.child.stdout!.destroy()
    server.child.stderr!.destroy()
    for (const key of ['a', 'b', 'c']) {
      const answer = await fetch(`${url}/v1/timers/hello/${key}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: '{"in":0}',
      })
      expect(answer.status).toBe(200)
    }
    // Each firing writes to the log that nobody reads.
    let settled = 0
    while (settled < 3) {
      const statistics = (await (await fetch(`${url}/v1/statistics`)).json()) as {
        store: { settled: number }
      }
      settled = statistics.store.settled
    }
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
  })
})

describe('an answer that no Carillon server gives', () => {
  const answers: readonly (readonly [name: string, answer: RequestListener, what: string])[] = [
    ['an HTML page', (_, response) => response.end('<html>welcome</html>'), 'answered 200 with "<html>'],
    [
      "a proxy's error page",
      (_, response) => response.writeHead(502).end('<html>bad gateway</html>'),
      'answered 502 with "<html>',
    ],
    ['nothing', (_, response) => response.end(), 'answered 200 with nothing'],
    ['JSON that is no problem', (_, response) => response.writeHead(500).end('{"a":1}'), 'answered 500 with'],
    ['a string', (_, response) => response.end('"hello"'), 'answered 200 with'],
    [
      'half an answer',
      (_, response) => {
        response.writeHead(200, { 'content-length': '100' }).write('{"items":')
        setTimeout(() => response.destroy(), 20)
      },
      'ended too early',
    ],
  ]

  it.each(answers)('is reported in one line, and the exit code is 4: %s', async (_, answer, what) => {
    const other = createServer(answer)
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    for (const words of [['list'], ['top', '--count', '1']]) {
      const { code, err } = await run([...words, '--url', `http://127.0.0.1:${port}`])
      expect([words, code, err]).toEqual([words, 4, expect.stringContaining(what)])
      expect(err.trim().split('\n')).toHaveLength(1)
    }
    other.close()
  })
})

describe('a command line that cannot be understood', () => {
  it.each([
    [['set', 'a', 'b', '--in', 'soon']],
    [['set', 'a', 'b', '--in', '1m', '--payload', '{']],
    [['set', 'a', 'b', '--in', '1m', '--if-revision', 'x']],
    [['list', '--limit', 'many']],
    [['list', '--limit', '0']],
    [['list', '--url', 'nonsense']],
    [['list', '--url', 'ftp://127.0.0.1']],
    [['redrive']],
    [['redrive', 'x', '--all']],
    [['keys', 'burn']],
    [['keys', 'create']],
    [['keys', 'create', '--name', 'a', '--namespace', 'b']],
    [['quota', '--max-timers', '-1']],
    [['next', '61 * * * *']],
    [['next', '0 9 * * *', '--count', '0']],
    [['completion', 'cmd']],
    [['migrate']],
    [['serve', '--port', 'http']],
    [['serve', '--engine-lease-ms', '1000']],
    [['serve', '--store', 'memory:', '--port', '0', '--engine-lease-ms', '1500']],
    [['unknown']],
    [['get']],
    [['list', '--unknown']],
  ])('ends with 2: %j', async (words) => {
    const { code, err } = await run(words)
    expect([code, err]).toEqual([2, expect.stringMatching(/^carillon: .+\n$/)])
  })

  it('ends with 2 for an unknown variable in the environment', async () => {
    expect((await run(['serve'], { CARILLON_SERVE_PROT: '1' })).code).toBe(2)
  })
})

describe('--json', () => {
  it.each([
    ['the server refuses', ['get', 'hello', 'nothing', '--json'], 'timer-unknown', 3],
    ['a value is wrong', ['set', 'a', 'b', '--in', 'soon', '--json'], 'invalid-duration', 2],
    ['an option is unknown', ['list', '--json', '--unknown'], 'invalid-option', 2],
    ['arguments are missing', ['get', '--json'], 'invalid-option', 2],
    ['nobody answers', ['list', '--json', '--url', 'http://127.0.0.1:9'], 'server-unreachable', 4],
  ])('prints an error as JSON when %s', async (_, words, code, exitCode) => {
    const result = await run(words)
    expect([result.code, result.out]).toEqual([exitCode, ''])
    expect(JSON.parse(result.err)).toEqual({ code, detail: expect.any(String) })
  })
})

describe('carillon serve', () => {
  it('passes the settings of the engine on, from flags, the environment and the file', () => {
    const flags = { 'engine-max-timers': '5', 'engine-strategy': 'lookahead' }
    const environment = { CARILLON_SERVE_ENGINE_STOP_MS: '20000' }
    expect(configurationOf(flags, environment, undefined)).toEqual({
      engine: { maxTimers: 5, strategy: 'lookahead', stopMs: 20_000 },
    })
    expect(configurationOf({}, {}, undefined)).toEqual({})
  })

  it('prints an address that other machines can use when it listens on all', async () => {
    await using server = new CliProcess(['serve', '--store', 'memory:', '--port', '0', '--host', '0.0.0.0'])
    await server.waitForOutput(/curl .*\n/)
    const [, url] = /listens on (\S+)/.exec(server.out)!
    const outward = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ internal, family }) => !internal && family === 'IPv4')
    // A machine without a network has only loopback.
    if (outward.length > 0) expect(outward.map(({ address }) => address)).toContain(new URL(url!).hostname)
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect(server.out).toContain(`curl -X PUT ${url}/v1/timers/hello/world`)
  })
})

describe('the program', () => {
  it('loads no store, schedule or server before a command needs them', () => {
    const src = fileURLToPath(new URL('../../src', import.meta.url))
    const reached = new Set<string>()
    const visit = (file: string): void => {
      if (reached.has(file)) return
      reached.add(file)
      const text = readFileSync(path.join(src, file), 'utf8')
      const statements = /^(?:import|export)(?! type)[^;']*?from '(\.[^']+)'/gm
      for (const [, to] of text.matchAll(statements))
        visit(path.join(path.dirname(file), to!).replace(/\.js$/, '.ts'))
    }
    visit('cli/main.ts')
    expect(reached).toContain('cli/commands/server/serve-command.ts')
    const folders = new Set(Array.from(reached, (file) => file.split('/')[0]))
    expect(folders).toEqual(new Set(['cli', 'error', 'time']))
  })
})
