import { cpSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { runCli } from '../cli/run-cli.js'
import { MemoryStore } from '../../src/store/index.js'
import { eventually } from '../eventually.js'
import { TestServer } from './test-server.js'

const folders: string[] = []

function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'carillon-maintenance-'))
  folders.push(folder)
  return folder
}

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function cliOf(served: TestServer): { CARILLON_URL: string; CARILLON_KEY: string } {
  return { CARILLON_URL: served.url, CARILLON_KEY: served.token }
}

/** Sets timers over HTTP until it is stopped, and cancels every third one. */
class Load {
  readonly acknowledged = new Set<string>()
  failures = 0
  #isStopped = false
  readonly #workers: Promise<void>[]

  constructor(served: TestServer) {
    this.#workers = Array.from({ length: 4 }, (_, worker) => this.#work(served, worker))
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#workers)
  }

  async #work(served: TestServer, worker: number): Promise<void> {
    for (let n = 0; !this.#isStopped; n++) {
      const key = `${worker}-${n}`
      const set = await served.call('PUT', `/v1/timers/load/${key}`, { in: '1d', payload: { n } })
      if (set.status !== 200) this.failures++
      else if (n % 3 > 0) this.acknowledged.add(key)
      else if ((await served.call('DELETE', `/v1/timers/load/${key}`)).status !== 200) this.failures++
    }
  }
}

async function keysOf(served: TestServer, kind: string): Promise<Set<string>> {
  const keys = new Set<string>()
  let cursor: string | undefined
  do {
    const search = new URLSearchParams({ kind, limit: '1000', ...(cursor !== undefined && { cursor }) })
    const { body } = await served.call('GET', `/v1/timers?${search.toString()}`)
    for (const { key } of body.items as { key: string }[]) keys.add(key)
    cursor = body.cursor as string | undefined
  } while (cursor !== undefined)
  return keys
}

describe('the restore drill of docs/operations.md', () => {
  it('backs up a served store under load; the restored one has everything acknowledged before', async () => {
    const data = path.join(newFolder(), 'data')
    const backups = path.join(newFolder(), 'backups')
    const restored = path.join(newFolder(), 'restored')
    let before: Set<string>
    let token: string
    {
      await using served = await TestServer.start({ store: `file:${data}`, backupFolder: backups })
      ;({ token } = served)
      await served.call('PUT', '/v1/targets/load', { type: 'log' })
      const load = new Load(served)
      await eventually(() => expect(load.acknowledged.size).toBeGreaterThan(30))
      before = new Set(load.acknowledged)
      const { code, out } = await runCli(['backup'], { env: cliOf(served) })
      expect([code, out]).toEqual([0, expect.stringMatching(/^backed up to carillon-\S+: \d+\.\d MB\n$/)])
      await load.stop()
      expect(load.failures).toBe(0)
      const verified = await runCli(['verify'], { env: cliOf(served) })
      expect(verified.code).toBe(0)
    }
    const [name] = readdirSync(backups)
    const copy = path.join(backups, name!)
    expect(statSync(copy).mode & 0o77).toBe(0)
    expect(statSync(path.join(copy, 'data.mdb')).mode & 0o77).toBe(0)
    cpSync(copy, restored, { recursive: true })
    const checked = await runCli(['verify', '--deep', '--store', `file:${restored}`])
    expect([checked.code, checked.out]).toEqual([0, expect.stringMatching(/^no damage: .*\nwhole: /)])
    await using again = await TestServer.start({ store: `file:${restored}` })
    // Keys and targets are in the backup, too.
    expect(again.server.firstToken).toBeUndefined()
    const authorized = Object.create(again, { token: { value: token } }) as TestServer
    const found = await keysOf(authorized, 'load')
    expect([...before].filter((key) => !found.has(key))).toEqual([])
    expect((await authorized.call('GET', '/v1/targets/load')).status).toBe(200)
    expect((await authorized.call('GET', '/v1/verify')).body).toMatchObject({ isWhole: true })
  })
})

describe('maintenance over HTTP', () => {
  it('compacts a served store under load, and every call is answered', async () => {
    const data = path.join(newFolder(), 'data')
    await using served = await TestServer.start({ store: `file:${data}` })
    const rows = Array.from({ length: 5000 }, (_, n) => ({ kind: 'old', key: `k${n}`, in: '1d' }))
    await served.call('POST', '/v1/batch', rows)
    const load = new Load(served)
    const { code, out } = await runCli(['compact'], { env: cliOf(served) })
    await load.stop()
    expect([code, out]).toEqual([0, expect.stringMatching(/^compacted from \d+\.\d MB to \d+\.\d MB\n$/)])
    expect(load.failures).toBe(0)
    expect(await keysOf(served, 'load')).toEqual(load.acknowledged)
    expect((await keysOf(served, 'old')).size).toBe(5000)
    expect((await served.call('GET', '/v1/verify')).body).toMatchObject({ isWhole: true })
  })

  it('takes no path from a caller, and needs an admin key for all namespaces', async () => {
    const backups = newFolder()
    const store = `file:${path.join(newFolder(), 'data')}`
    await using served = await TestServer.start({ store, backupFolder: backups })
    const started = await served.call('POST', '/v1/backup')
    expect([started.status, started.body]).toEqual([
      202,
      {
        what: 'backup',
        state: 'running',
        name: expect.any(String),
        startedAt: expect.any(Number),
        bytesBefore: expect.any(Number),
      },
    ])
    await eventually(async () => {
      const { body } = await served.call('GET', '/v1/maintenance')
      expect(body.jobs).toEqual([expect.objectContaining({ state: 'done', bytes: expect.any(Number) })])
    })
    expect(readdirSync(backups)).toEqual([started.body.name])
    for (const [scope, namespace] of [
      ['write', undefined],
      ['admin', 'shop'],
    ]) {
      const made = await served.call('POST', '/v1/keys', { name: 'x', scope, namespace })
      const headers = { authorization: `Bearer ${made.body.token}` }
      for (const route of ['/v1/backup', '/v1/compact'])
        expect((await served.call('POST', route, undefined, headers)).status).toBe(403)
    }
    const audit = await served.call('GET', '/v1/audit?action=backup')
    expect(audit.body.items).toEqual([expect.objectContaining({ subject: started.body.name })])
  })

  it('runs one at a time, and shows the progress of the running one', async () => {
    let finish: (answer: { bytes: number }) => void = () => undefined
    const maintenance = {
      backup: () => new Promise<{ bytes: number }>((resolve) => (finish = resolve)),
      compact: () => Promise.resolve({ bytes: 1 }),
      progress: () => ({ copiedBytes: 3, totalBytes: 9 }),
      size: () => 9,
      freeBytes: () => 9,
    }
    const store = Object.assign(new MemoryStore(), { maintenance })
    await using served = await TestServer.start({ store, backupFolder: '/nowhere' })
    await served.call('POST', '/v1/backup')
    const busy = await served.call('POST', '/v1/compact')
    expect([busy.status, busy.body.code]).toEqual([409, 'maintenance-running'])
    const running = await served.call('GET', '/v1/maintenance')
    expect(running.body.jobs).toEqual([
      expect.objectContaining({ state: 'running', progress: { copiedBytes: 3, totalBytes: 9 } }),
    ])
    finish({ bytes: 7 })
    await eventually(async () => {
      const { body } = await served.call('GET', '/v1/maintenance')
      expect(body.jobs).toEqual([expect.objectContaining({ state: 'done', bytes: 7 })])
    })
    expect((await served.call('POST', '/v1/compact')).status).toBe(202)
  })

  it('reports a backup that failed', async () => {
    const file = path.join(newFolder(), 'data')
    // A file where the folder should be.
    await using served = await TestServer.start({
      store: `file:${file}`,
      backupFolder: path.join(file, 'data.mdb', 'x'),
    })
    const { code, out } = await runCli(['backup'], { env: cliOf(served) })
    expect([code, out]).toEqual([1, expect.stringMatching(/^failed: /)])
  })

  it('says what to do when the store or the server has no backups', async () => {
    await using memory = await TestServer.start()
    for (const route of ['/v1/backup', '/v1/compact'])
      expect((await memory.call('POST', route)).body).toMatchObject({ code: 'not-over-http', status: 409 })
    await using served = await TestServer.start({ store: `file:${path.join(newFolder(), 'data')}` })
    expect((await served.call('POST', '/v1/backup')).body.detail).toContain('--backup-folder')
  })

  it('backs up and compacts a store that no server has open', async () => {
    const store = `file:${path.join(newFolder(), 'data')}`
    const to = newFolder()
    await (await TestServer.start({ store })).server.stop()
    expect((await runCli(['backup', '--store', store])).code).toBe(2)
    const done = await runCli(['backup', '--store', store, '--to', to])
    expect([done.code, readdirSync(to).length]).toEqual([0, 1])
    expect((await runCli(['compact', '--store', store])).code).toBe(0)
    expect((await runCli(['verify', '--store', `file:${path.join(to, readdirSync(to)[0]!)}`])).code).toBe(0)
  })
})
