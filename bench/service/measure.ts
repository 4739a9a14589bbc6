import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import process from 'node:process'
import { randomBytes } from 'node:crypto'
import { Server } from 'carillon/server'
import { fastify } from 'fastify'
import { Receiver } from '../delivery/receiver.js'
import type { Measurement } from '../harness/bench.js'
import { Memory } from '../harness/memory.js'
import { Folder } from '../stores/folder.js'
import type { Called, CallTask } from './caller.js'
import { Connection, type Served } from './connection.js'
import { LoopDelay } from './loop-delay.js'
import { OtherProcess } from './other-process.js'
import type { Soaked, SoakTask } from './soaker.js'
import type { Worked, WorkTask } from './worker.js'

/** 256 connections keep a server busy all the time. 64 are what a small team may have. */
const MANY_CONNECTIONS = 256
const CONNECTIONS = 64
const ROWS = 1000
const BATCHES_AT_ONCE = 4
// Warm-up, until the measured code is compiled: a server runs longer than a bench.
const WARM_UP = 10_000
const LEASED_AT_ONCE = 16
const LOOK_MS = 10
const SOAK_CONNECTIONS = 16
const SOAK_KEYS = 50_000
const SOAK_WARM_UP_SECONDS = 20
const SOAK_SECONDS = 60
const MEBIBYTE = 2 ** 20

/** Single sets and batches of a thousand, on a server with this store. */
export async function measureServer(kind: 'memory' | 'file', n: number): Promise<Measurement> {
  return await onServer(kind, async (served) => await sets(served, n, true))
}

/** fastify with the same schemas, which answers immediately. */
export async function measureEcho(n: number): Promise<Measurement> {
  const { body, answer } = await schemas()
  const app = fastify()
  app.put('/v1/timers/:kind/:key', { schema: { body, response: { 200: answer } } }, ({ params }, reply) => {
    const { kind, key } = params as { kind: string; key: string }
    void reply.send({ outcome: 'set', kind, key, handle: 't1.x.~k.1', dueAt: 1, revision: 1 })
  })
  try {
    return await sets({ url: await app.listen({ port: 0, host: '127.0.0.1' }), token: 'none' }, n, false)
  } finally {
    await app.close()
  }
}

/** Workers wait for firings and ack each one. All timers are stored and due before the first worker asks. */
export async function measureLeases(n: number): Promise<Measurement> {
  return await onServer('file', async (served) => {
    await setTarget(served, { type: 'lease' })
    const workers = new OtherProcess<WorkTask, Worked>(new URL('worker.js', import.meta.url).href)
    try {
      const task = { ...served, workers: CONNECTIONS, max: LEASED_AT_ONCE }
      const warmUp = await filled(served, WARM_UP)
      await workers.ask({ ...task, firings: warmUp })
      const firings = await filled(served, n)
      const cpu = process.cpuUsage()
      const { ms, acked, refused } = await workers.ask({ ...task, firings })
      return {
        metrics: { acked: acked / ms, 'firing CPU': usSince(cpu) / acked },
        checks: { refused },
        notes: [],
      }
    } finally {
      workers.stop()
    }
  })
}

/** From the first set, with a thousand timers per request, until the receiver has the last webhook. */
export async function measureWebhooks(n: number): Promise<Measurement> {
  const receiver = await Receiver.start()
  try {
    return await onServer(
      'file',
      async (served) => {
        const secret = `whsec_${randomBytes(32).toString('base64')}`
        await setTarget(served, { type: 'webhook', url: receiver.url, secret })
        const received = async (count: number): Promise<void> => {
          while ((await receiver.count()) < count) await sleep(LOOK_MS)
        }
        const warmUp = await filled(served, WARM_UP)
        await received(warmUp)
        const cpu = process.cpuUsage()
        const from = performance.now()
        const sent = await filled(served, n)
        await received(warmUp + sent)
        const ms = performance.now() - from
        return { metrics: { webhooks: sent / ms, 'firing CPU': usSince(cpu) / sent }, checks: {}, notes: [] }
      },
      { guard: { http: true, ports: [Number(new URL(receiver.url).port)], addresses: ['127.0.0.0/8'] } },
    )
  } finally {
    receiver.stop()
  }
}

/** A minute of mixed load at full speed with a limited number of timers: the server's memory before and after. */
export async function measureSoak(): Promise<Measurement> {
  return await onServer('file', async (served) => {
    await setTarget(served, { type: 'lease' })
    const soaker = new OtherProcess<SoakTask, Soaked>(new URL('soaker.js', import.meta.url).href)
    try {
      const task = { ...served, connections: SOAK_CONNECTIONS, keys: SOAK_KEYS }
      await soaker.ask({ ...task, seconds: SOAK_WARM_UP_SECONDS, firstKey: 0 })
      const before = resident()
      const done = await soaker.ask({ ...task, seconds: SOAK_SECONDS, firstKey: 0 })
      const after = resident()
      const { set, fired, cancelled, listed, refused } = done
      return {
        metrics: {
          warm: before.bytes / MEBIBYTE,
          end: after.bytes / MEBIBYTE,
          growth: after.bytes / before.bytes,
          own: after.ownBytes / before.ownBytes,
          held: after.heldBytes / before.heldBytes,
        },
        checks: { refused },
        notes: [
          `${set} set, ${fired} fired and acked, ${cancelled} cancelled, ${listed} pages listed in ${SOAK_SECONDS} s: ` +
            `an hour of ${Math.round(set / 3600)} sets and ${Math.round(fired / 3600)} firings a second`,
        ],
      }
    } finally {
      soaker.stop()
    }
  })
}

export async function onServer(
  kind: 'memory' | 'file',
  measure: (served: Served) => Promise<Measurement>,
  options: Partial<Parameters<typeof Server.start>[0]> = {},
): Promise<Measurement> {
  const folder = kind === 'file' ? new Folder() : undefined
  const server = await Server.start({
    store: folder === undefined ? 'memory:' : `file:${folder.path}`,
    port: 0,
    rate: 0,
    ...options,
  })
  try {
    return await measure({ url: server.url, token: server.firstToken! })
  } finally {
    await server.stop()
    folder?.remove()
  }
}

async function sets(served: Served, n: number, hasBatches: boolean): Promise<Measurement> {
  const caller = newCaller()
  try {
    const task = { ...served, in: '1h', rows: 1 }
    await caller.ask({ ...task, connections: CONNECTIONS, requests: WARM_UP })
    const metrics: Record<string, number> = {}
    let refused = 0
    for (const connections of [MANY_CONNECTIONS, CONNECTIONS]) {
      const cpu = process.cpuUsage()
      const delay = new LoopDelay()
      const single = await caller.ask({ ...task, connections, requests: n })
      metrics[`set ${connections}`] = n / single.ms
      metrics[`CPU ${connections}`] = usSince(cpu) / n
      metrics[`loop ${connections}`] = delay.end()
      refused += single.refused
    }
    if (!hasBatches) return { metrics, checks: { refused }, notes: [] }
    const requests = Math.max(BATCHES_AT_ONCE, Math.ceil(n / ROWS) * 4)
    const delay = new LoopDelay()
    const batch = await caller.ask({ ...task, connections: BATCHES_AT_ONCE, requests, rows: ROWS })
    return {
      metrics: { ...metrics, batch: (requests * ROWS) / batch.ms, 'loop batch': delay.end() },
      checks: { refused: refused + batch.refused },
      notes: [],
    }
  } finally {
    caller.stop()
  }
}

/** Sets about `n` timers that are due immediately. Returns how many. */
export async function filled(served: Served, n: number): Promise<number> {
  const caller = newCaller()
  try {
    const requests = Math.ceil(n / ROWS)
    const task = { ...served, connections: BATCHES_AT_ONCE, requests, rows: ROWS, in: '0s' }
    const { refused } = await caller.ask(task)
    if (refused > 0) throw new Error(`the server refused ${refused} batches`)
    return requests * ROWS
  } finally {
    caller.stop()
  }
}

function newCaller(): OtherProcess<CallTask, Called> {
  return new OtherProcess(new URL('caller.js', import.meta.url).href)
}

async function setTarget(served: Served, target: object): Promise<void> {
  const connection = new Connection(served)
  await connection.ask('PUT', '/v1/targets/bench', target)
  await connection.close()
  if (connection.refused > 0) throw new Error('the server refused the target')
}

/** The memory of the process: resident, resident without mapped files, and V8's heap and buffers. */
function resident(): { readonly bytes: number; readonly ownBytes: number; readonly heldBytes: number } {
  const { residentBytes, heldBytes } = new Memory()
  return { bytes: residentBytes, ownBytes: residentBytes - filePages(), heldBytes }
}

/** Resident bytes of mapped files. 0 where the system does not report them. */
function filePages(): number {
  if (process.platform !== 'linux') return 0
  const [, kibibytes = '0'] = /^RssFile:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return Number(kibibytes) * 1024
}

function usSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return user + system
}

/** Reads from a server's OpenAPI document the schemas that its own route uses. */
async function schemas(): Promise<{ body: object; answer: object }> {
  const server = await Server.start({ store: 'memory:', port: 0 })
  const { paths } = server.openApi as {
    paths: Record<string, Record<string, { requestBody: Content; responses: Record<string, Content> }>>
  }
  await server.stop()
  const { requestBody, responses } = paths['/v1/timers/{kind}/{key}']!['put']!
  const plain = ({ content }: Content): object =>
    JSON.parse(JSON.stringify(content['application/json']!.schema)) as object
  return { body: plain(requestBody), answer: plain(responses['200']!) }
}

interface Content {
  readonly content: Readonly<Record<string, { readonly schema: object }>>
}
