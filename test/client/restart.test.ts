import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Client } from '../../src/client/index.js'
import { openTimers, timer } from '../../src/front/index.js'
import { Server } from '../../src/server/index.js'
import { CliProcess } from '../cli/cli-process.js'
import { until } from '../eventually.js'
import { freePorts } from '../servers/free-ports.js'

const remind = timer<number>('remind', { retry: { attempts: 20, backoff: '1ms..20ms' } })

let folder = ''

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'carillon-client-'))
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

describe('a server that restarts while clients use it', () => {
  it('loses no timer, and acknowledges none twice', async () => {
    const [port] = await freePorts(1)
    const start = (): Promise<Server> => Server.start({ store: `file:${folder}`, port: port!, auth: false })
    let server = await start()
    const client = new Client(server.url, { retries: 50 })
    await using timers = await openTimers({ store: server.url as `http://${string}`, lease: '2s' })
    const handled: string[] = []
    timers.handle(remind, async ({ key }) => {
      handled.push(key)
      await new Promise((resolve) => setTimeout(resolve, 20))
    })
    await timers.start()
    const life = { isOver: false }
    const set: string[] = []
    const setting = (async () => {
      for (let n = 0; !life.isOver; n++) {
        await client.set(remind, `k${n}`, { in: 50, payload: n })
        set.push(`k${n}`)
      }
    })()
    for (let round = 0; round < 2; round++) {
      await until('some were handled', () => handled.length > 20 * (round + 1))
      await server.stop()
      server = await start()
    }
    await until('some more were handled', () => handled.length > 60)
    life.isOver = true
    await setting
    await until('all are over', async () => (await client.list()).items.length === 0)
    const missing = set.filter((key) => !handled.includes(key))
    expect(missing).toEqual([])
    // Each created timer was settled once: an acknowledged timer was never delivered again.
    await until('all are settled', async () => {
      const { created, replaced, settled } = await countsOf(server.url)
      return settled >= created - replaced
    })
    const counts = await countsOf(server.url)
    expect(counts.settled).toBe(counts.created - counts.replaced)
    expect(counts.dead).toBe(0)
    expect(new Set(handled).size).toBe(set.length)
    await timers.stop()
    await server.stop()
  })

  it('delivers every acknowledged timer after it was killed', async () => {
    const [port] = await freePorts(1)
    const args = ['serve', '--store', `file:${folder}`, '--port', String(port), '--auth', 'false']
    let running = new CliProcess(args, { cwd: folder })
    try {
      await running.waitForOutput(/listen|http:\/\//)
      const url = `http://127.0.0.1:${port}` as const
      const client = new Client(url, { retries: 100 })
      await until(
        'it answers',
        async () => (await fetch(`${url}/healthz`).catch(() => undefined))?.ok === true,
      )
      await using timers = await openTimers({ store: url, lease: '2s' })
      const handled = new Set<string>()
      timers.handle(remind, ({ key }) => void handled.add(key))
      await timers.start()
      const set: string[] = []
      const life = { isOver: false }
      const setting = (async () => {
        for (let n = 0; !life.isOver; n++) {
          await client.set(remind, `k${n}`, { in: 50, payload: n })
          set.push(`k${n}`)
        }
      })()
      await until('some were handled', () => handled.size > 20)
      running.child.kill('SIGKILL')
      await running.ended
      running = new CliProcess(args, { cwd: folder })
      await until('more were handled', () => handled.size > 60, 60_000)
      life.isOver = true
      await setting
      await until('all are over', async () => (await client.list()).items.length === 0, 60_000)
      expect(set.filter((key) => !handled.has(key))).toEqual([])
      await timers.stop()
    } finally {
      await running[Symbol.asyncDispose]()
    }
  })
})

/** How many timers of a server were created, settled and so on. */
async function countsOf(
  url: string,
): Promise<{ created: number; settled: number; replaced: number; dead: number }> {
  const answer = (await (await fetch(`${url}/v1/statistics`)).json()) as {
    store: { created: number; settled: number; replaced: number; dead: number }
  }
  return answer.store
}
