import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type InspectOptions, MemoryStore } from '../../src/store/index.js'
import { runCli } from '../cli/run-cli.js'
import { eventually } from '../eventually.js'
import { FileFixture, PostgresFixture, RedisFixture, type StoreFixture } from './store-fixtures.js'
import { storeSpoiltRow } from './spoilt-row.js'
import { type Answer, TestServer } from './test-server.js'

const PAGE_BYTES = 8192
const folders: string[] = []

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

async function setTimers(served: TestServer, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, n) => ({
    kind: 'remind',
    key: `k${n}`,
    in: '1d',
    payload: `the payload of timer ${n}`,
  }))
  expect((await served.call('POST', '/v1/batch', rows)).status).toBe(200)
}

async function deepJob(served: TestServer): Promise<Answer['body']> {
  const started = await served.call('POST', '/v1/verify')
  expect(started.status).toBe(202)
  let job: Answer['body']
  await eventually(async () => {
    const { body } = await served.call('GET', '/v1/maintenance')
    job = body.jobs.find(({ what }: { what: string }) => what === 'verify')
    expect(job.state).not.toBe('running')
  })
  return job
}

/** Overwrites pages in which payloads are, so that LMDB itself stays able to work. */
function overwritePages(file: string, most: number): number {
  const bytes = readFileSync(file)
  const pages: number[] = []
  for (let page = 2; page < bytes.length / PAGE_BYTES && pages.length < most; page++) {
    const at = page * PAGE_BYTES
    // Pages in the middle of a long value have no header.
    const hasHeader = Number(bytes.readBigUInt64LE(at)) === page
    if (!hasHeader && bytes.subarray(at, at + PAGE_BYTES).includes('the payload of timer')) pages.push(page)
  }
  const descriptor = openSync(file, 'r+')
  for (const page of pages)
    writeSync(descriptor, Buffer.alloc(PAGE_BYTES - 1, 0xa5), 0, undefined, page * PAGE_BYTES)
  closeSync(descriptor)
  return pages.length
}

describe('a deep verification of a file', () => {
  it('reports 40 overwritten pages by route and by command, while it is served and afterwards', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'carillon-deep-'))
    folders.push(folder)
    const store = `file:${folder}`
    {
      await using served = await TestServer.start({ store })
      for (let n = 0; n < 2; n++) await setTimers(served, 5000)
      const env = { CARILLON_URL: served.url, CARILLON_KEY: served.token }
      const sound = await runCli(['verify', '--deep'], { env })
      expect([sound.code, sound.out]).toEqual([
        0,
        expect.stringMatching(/^no damage: \d+ rows and \d+ records read, \d+ checksums\nwhole: created/),
      ])
      expect(overwritePages(path.join(folder, 'data.mdb'), 40)).toBe(40)
      // Counting does not read the pages, so it does not notice.
      expect((await served.call('GET', '/v1/verify')).body.isWhole).toBe(true)
      const { state, found } = await deepJob(served)
      expect([state, found.damageCount > 0, found.damages[0].where]).toEqual([
        'done',
        true,
        expect.stringMatching(/^page \d+ \(chunks\)$/),
      ])
      const asked = await runCli(['verify', '--deep'], { env })
      expect([asked.code, asked.out]).toEqual([1, expect.stringMatching(/^damaged: \d+ places .*\n {2}page/)])
      // The rest is still served.
      expect((await served.call('PUT', '/v1/timers/remind/new', { in: '1h' })).status).toBe(200)
    }
    const alone = await runCli(['verify', '--deep', '--store', store])
    expect([alone.code, alone.out]).toEqual([1, expect.stringMatching(/^damaged: \d+ places/)])
  })

  it('goes on while timers are set, and reports no damage that is none', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'carillon-deep-'))
    folders.push(folder)
    await using served = await TestServer.start({ store: `file:${folder}` })
    for (let n = 0; n < 3; n++) {
      await setTimers(served, 3000)
      const load = Array.from({ length: 20 }, (_, i) =>
        served.call('PUT', `/v1/timers/remind/load${n}-${i}`, { in: '1d' }),
      )
      const { found, state } = await deepJob(served)
      await Promise.all(load)
      expect([state, found.damages]).toEqual(['done', []])
    }
  })
})

const fixtures: readonly StoreFixture[] = [new FileFixture(), new PostgresFixture(), new RedisFixture()]

for (const fixture of fixtures) {
  describe(`a deep verification on ${fixture.name}`, () => {
    beforeAll(() => fixture.start())
    afterAll(() => fixture.stop())

    it('reads every row, and names those whose content is of no use', async () => {
      const store = await fixture.open()
      const served = await TestServer.start({ store, auth: false })
      try {
        await setTimers(served, 100)
        expect((await deepJob(served)).found).toMatchObject({ rows: 100, damageCount: 0 })
        await storeSpoiltRow(store, { kind: 'remind', key: 'spoilt', dueAt: Date.now() + 3_600_000 })
        const { found } = await deepJob(served)
        expect(found).toMatchObject({
          rows: 101,
          damageCount: 1,
          damages: [{ what: expect.stringContaining('JSON') as string }],
        })
      } finally {
        await served.server.stop()
        await store.stop()
      }
    })
  })
}

describe('a deep verification', () => {
  it('is refused for a store in memory, and says why', async () => {
    await using served = await TestServer.start({ store: new MemoryStore() })
    expect((await served.call('POST', '/v1/verify')).body).toMatchObject({
      code: 'not-over-http',
      status: 409,
    })
  })

  it('shows its progress, and ends when the server stops', async () => {
    let hasEnded = false
    const inspection = {
      inspect: ({ onProgress, signal }: InspectOptions) =>
        new Promise<never>((_, reject) => {
          onProgress?.({ checkedRows: 3, totalRows: 9 })
          signal?.addEventListener('abort', () => {
            hasEnded = true
            reject(signal.reason as Error)
          })
        }),
    }
    const store = Object.assign(new MemoryStore(), { inspection })
    const served = await TestServer.start({ store })
    await served.call('POST', '/v1/verify')
    const { body } = await served.call('GET', '/v1/maintenance')
    expect(body.jobs).toEqual([
      expect.objectContaining({ what: 'verify', progress: { checkedRows: 3, totalRows: 9 } }),
    ])
    await served.server.stop()
    expect(hasEnded).toBe(true)
  })
})
