import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openTimers, timer, type Timers } from '../../src/front/index.js'
import type { StoreUrl } from '../../src/store/index.js'
import { eventually, until } from '../eventually.js'
import { type PostgresServer, startPostgres } from './postgres.js'
import { type RedisServer, startOwnRedis } from './redis.js'
import { TcpProxy } from './tcp-proxy.js'

const library = new URL('../../dist/index.js', import.meta.url)
const kind = timer<number>('kind')
/** How many calls of each sort the other process makes at once. */
const EACH = 20
const SHARDS = 16

/**
 * Another process. If it is started, it owns about half of the shards, and otherwise none. At `go` it makes its calls, at
 * `stop` it stops. It prints one line of JSON for each of both.
 */
const program = `
import { openTimers, timer } from ${JSON.stringify(library.href)}
import { createInterface } from 'node:readline'
const kind = timer('kind')
const timers = await openTimers({ store: process.argv[2], logger: false, callTimeout: '3s', engine: { stopMs: 1000 } })
const [, , , role, run] = process.argv
timers.handle(kind, () => undefined)
if (role === 'started') await timers.start()
const each = (call) => Array.from({ length: ${EACH} }, (_, n) => call(n))
const endingOf = (call) => call.then(() => 'answered', ({ code, rows }) => rows?.map(({ error }) => error?.code ?? 'answered') ?? code)
const calls = () => [
  ...each((n) => timers.set(kind, run + 'set' + n, { in: '1h', payload: n })),
  ...each((n) => timers.set(kind, run + 'absent' + n, { in: '1h', payload: n, ifAbsent: true })),
  ...each((n) => timers.setMany(kind, Array.from({ length: 50 }, (_, m) => ({ key: run + 'many' + n + '-' + m, in: '1h', payload: n })))),
  ...each((n) => timers.move(kind, run + 'there' + n, { in: '2h' })),
  ...each((n) => timers.cancel(kind, run + 'there' + n)),
  ...each((n) => timers.get(kind, run + 'there' + n)),
  ...each(() => timers.list()),
  ...each(() => timers.stats()),
  timers.setQuota({ maxTimers: 1000000 }),
  timers.pause(kind),
]
console.log('"ready"')
for await (const line of createInterface({ input: process.stdin })) {
  const report = line === 'go' ? await Promise.all(calls().map(endingOf)) : [await endingOf(timers.stop())]
  console.log(JSON.stringify(report))
  if (line === 'stop') process.exit()
}
`

/** The other process. */
class WebProcess {
  readonly #child: ChildProcess
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'carillon-bounded-'))
  #out = ''
  err = ''
  #lines = 0

  constructor(store: string, role: string, run: string) {
    const file = path.join(this.#folder, 'program.mjs')
    writeFileSync(file, program)
    this.#child = spawn(process.execPath, [file, store, role, run], { stdio: 'pipe' })
    this.#child.stdout!.on('data', (data) => (this.#out += String(data)))
    this.#child.stderr!.on('data', (data) => (this.err += String(data)))
  }

  /** The next line that it prints. */
  async line<Report>(forMs = 60_000): Promise<Report> {
    const wanted = ++this.#lines
    await until(`line ${wanted} of the process`, () => this.#out.split('\n').length > wanted, forMs)
    return JSON.parse(this.#out.split('\n')[wanted - 1]!) as Report
  }

  async ask(word: 'go' | 'stop'): Promise<readonly (string | readonly string[])[]> {
    this.#child.stdin!.write(`${word}\n`)
    // Ten times as long as its calls may take.
    return await this.line(30_000)
  }

  async end(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const gone = once(this.#child, 'exit')
      this.#child.kill('SIGKILL')
      await gone
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** A server that can be away. */
interface Away {
  readonly url: string
  /** How the other process reaches it. */
  readonly webUrl: string
  leave(how: 'stalls' | 'refuses'): Promise<void>
  comeBack(): Promise<void>
  stop(): Promise<void>
}

async function awayPostgres(): Promise<Away> {
  const server: PostgresServer = await startPostgres()
  const proxy = await TcpProxy.to(Number(new URL(server.url).port))
  const url = new URL(server.url)
  url.host = `127.0.0.1:${proxy.port}`
  return {
    url: server.url,
    webUrl: url.href,
    leave: async (how) => (how === 'stalls' ? proxy.holdAnswers() : proxy.close()),
    comeBack: async () => {
      proxy.cut()
      proxy.open()
    },
    stop: async () => {
      await proxy.stop()
      await server.stop()
    },
  }
}

async function awayRedis(): Promise<Away> {
  const server: RedisServer = await startOwnRedis()
  let isKilled = false
  return {
    url: server.url,
    webUrl: server.url,
    leave: async (how) => {
      isKilled = how === 'refuses'
      if (isKilled) await server.process!.end('SIGKILL')
      else process.kill(server.process!.pid, 'SIGSTOP')
    },
    comeBack: async () => {
      if (isKilled) await server.process!.resume()
      else process.kill(server.process!.pid, 'SIGCONT')
    },
    stop: () => server.stop(),
  }
}

describe.each([
  ['PostgreSQL', awayPostgres],
  ['Redis', awayRedis],
] as const)('another process on %s', (_, start) => {
  let server: Away
  let owner: Timers
  let web: WebProcess | undefined

  beforeAll(async () => {
    server = await start()
    owner = await openTimers({ store: server.url as StoreUrl, logger: false })
    owner.handle(kind, () => undefined)
    await owner.start()
  })

  afterEach(async () => {
    await web?.end()
  })

  afterAll(async () => {
    await owner.stop().catch(() => undefined)
    await server.stop()
  })

  it.each([
    ['not started', 'stalls'],
    ['not started', 'refuses'],
    ['started', 'stalls'],
    ['started', 'refuses'],
  ] as const)(
    'that is %s gets an answer to every call while the server %s, and what is not-done never happens',
    async (role, how) => {
      const run = `${role}-${how}-`
      for (let n = 0; n < EACH; n++) await owner.set(kind, `${run}there${n}`, { in: '1h', payload: n })
      web = new WebProcess(server.webUrl, role, run)
      await web.line()
      if (role === 'started') await until('it owns shards', () => owner.engine.stats().shards.length < SHARDS)
      await server.leave(how)
      const endings = await web.ask('go')
      expect(web.err).toBe('')
      expect(endings).toHaveLength(EACH * 8 + 2)
      for (const code of endings.flat())
        expect(code).toMatch(/^(?:not-done|unknown-outcome|owner-unreachable|store-unavailable)$/)
      expect((await web.ask('stop')).flat()).toHaveLength(1)
      await server.comeBack()
      // What was on its way has arrived or never will: the owner reads its inbox all the time.
      await until('the owner reaches the store', async () =>
        owner.set(kind, `${run}last`, { in: '1h', payload: 0 }).then(
          () => true,
          () => false,
        ),
      )
      // A list waits for the inboxes of all shards. Those of the other process have no owner until its lease is over.
      const { items } = await eventually(() => owner.list({ kind, limit: 10_000 }), 60_000)
      const keys = new Set(items.map(({ key }) => key))
      const happened = (prefix: string, from: number): number =>
        endings
          .slice(from, from + EACH)
          .filter((code, n) => code === 'not-done' && keys.has(`${run}${prefix}${n}`)).length
      expect(happened('set', 0)).toBe(0)
      expect(happened('absent', EACH)).toBe(0)
    },
    240_000,
  )
})

describe('opening timers on a server that accepts connections and never answers', () => {
  it.each(['postgres://a:b@', 'redis://'])('fails with %s', async (scheme) => {
    const server = net.createServer(() => undefined)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as net.AddressInfo
    const opening = openTimers({ store: `${scheme}127.0.0.1:${port}`, logger: false, callTimeout: '2s' })
    await expect(opening).rejects.toMatchObject({ code: 'store-unavailable' })
    server.close()
  })
})
