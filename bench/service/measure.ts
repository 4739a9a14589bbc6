import { Server } from 'carillon/server'
import { fastify } from 'fastify'
import type { Measurement } from '../harness/bench.js'
import { Folder } from '../stores/folder.js'
import { Caller } from './caller.js'

const CONNECTIONS = 64
const ROWS = 1000
const WARM_UP = 2000

interface Served {
  readonly url: string
  readonly token: string
}

/** Single sets and batches of a thousand, to a server on this store. */
export async function measureServer(kind: 'memory' | 'file', n: number): Promise<Measurement> {
  const folder = kind === 'file' ? new Folder() : undefined
  const server = await Server.start({
    store: folder === undefined ? 'memory:' : `file:${folder.path}`,
    port: 0,
    rate: 0,
  })
  try {
    return await measured({ url: server.url, token: server.firstToken! }, n, true)
  } finally {
    await server.stop()
    folder?.remove()
  }
}

/** fastify with the same schemas, answering at once. */
export async function measureEcho(n: number): Promise<Measurement> {
  const { body, answer } = await schemas()
  const app = fastify()
  app.put('/v1/timers/:kind/:key', { schema: { body, response: { 200: answer } } }, ({ params }, reply) => {
    const { kind, key } = params as { kind: string; key: string }
    void reply.send({ outcome: 'set', kind, key, handle: 't1.x.~k.1', dueAt: 1, revision: 1 })
  })
  try {
    return await measured({ url: await app.listen({ port: 0, host: '127.0.0.1' }), token: 'none' }, n, false)
  } finally {
    await app.close()
  }
}

async function measured({ url, token }: Served, n: number, hasBatches: boolean): Promise<Measurement> {
  const caller = new Caller()
  try {
    const task = { url, token, connections: CONNECTIONS }
    await caller.call({ ...task, requests: WARM_UP, rows: 1 })
    const cpu = process.cpuUsage()
    const single = await caller.call({ ...task, requests: n, rows: 1 })
    const { user, system } = process.cpuUsage(cpu)
    const metrics = { set: n / single.ms, CPU: (user + system) / n }
    if (!hasBatches) return { metrics, checks: { refused: single.refused }, notes: [] }
    const requests = Math.max(4, Math.ceil(n / ROWS) * 4)
    const batch = await caller.call({ ...task, connections: 4, requests, rows: ROWS })
    return {
      metrics: { ...metrics, batch: (requests * ROWS) / batch.ms },
      checks: { refused: single.refused + batch.refused },
      notes: [],
    }
  } finally {
    caller.stop()
  }
}

/** Out of the document of a server: those that its own route checks and writes by. */
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
