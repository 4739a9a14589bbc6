import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Random } from 'carillon/testing'
import type { Delivery } from './ledger.js'

/** What the receiver counted for one process. */
export interface LifeCount {
  deliveries: number
  done: number
  failed: number
}

interface Item {
  readonly id: string
  readonly attempt: number
  readonly key: string
  readonly timestamp: string
  readonly data?: unknown
}

// The share of messages that are answered with 503, so that they are sent again.
const FAILURE_SHARE = 0.005

export interface WebhookReceiverParts {
  readonly seed: number
  readonly onDelivery: (delivery: Delivery) => void
  /** Called when the answer to an attempt was sent, or nobody waits for it any more. */
  readonly onEnd?: (key: string, attempt: number, by: string) => void
  /** How long to wait before a message about this timer is answered. Default: not at all. */
  readonly answerMs?: (key: string) => number
  /** The process at the other end of a connection from this port. */
  readonly lifeOf: (port: number, to: number) => string
}

/** Receives the webhooks of all instances. Counts for each process what came from it and how it was answered. */
export class WebhookReceiver {
  readonly counts = new Map<string, LifeCount>()
  readonly #server: Server
  readonly #parts: WebhookReceiverParts
  readonly #random: Random
  readonly #lives = new WeakMap<Socket, string>()
  #port = 0

  private constructor(parts: WebhookReceiverParts) {
    this.#parts = parts
    this.#random = new Random(parts.seed)
    this.#server = createServer((request, response) => this.#take(request, response))
    this.#server.keepAliveTimeout = 120_000
    this.#server.on('connection', (socket) => {
      this.#lives.set(socket, parts.lifeOf(socket.remotePort ?? 0, this.#port))
    })
  }

  static async start(parts: WebhookReceiverParts): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(parts)
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve))
    receiver.#port = (receiver.#server.address() as AddressInfo).port
    return receiver
  }

  get port(): number {
    return this.#port
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const at = Date.now()
      const by = this.#lives.get(request.socket)!
      const isDone = !this.#random.chance(FAILURE_SHARE)
      const items = itemsOf(request, JSON.parse(Buffer.concat(chunks).toString()) as Body)
      this.count(by, 'deliveries', items.length)
      this.count(by, isDone ? 'done' : 'failed', items.length)
      for (const { id, attempt, key, timestamp, data } of items)
        this.#parts.onDelivery({ key, id, attempt, dueAt: Date.parse(timestamp), at, by, isDone, data })
      const end = (): void => {
        for (const { key, attempt } of items) this.#parts.onEnd?.(key, attempt, by)
      }
      response.once('close', end)
      const answerMs = this.#parts.answerMs?.(items[0]!.key) ?? 0
      if (answerMs === 0) response.writeHead(isDone ? 200 : 503).end()
      else setTimeout(() => response.writeHead(isDone ? 200 : 503).end(), answerMs)
    })
  }

  /** Counts what came from a process, including what workers leased from it. */
  count(by: string, what: keyof LifeCount, items: number): void {
    let count = this.counts.get(by)
    if (count === undefined) this.counts.set(by, (count = { deliveries: 0, done: 0, failed: 0 }))
    count[what] += items
  }
}

type Body = Omit<Item, 'id' | 'attempt'> | { readonly batch: readonly Item[] }

function itemsOf({ headers }: IncomingMessage, body: Body): readonly Item[] {
  if ('batch' in body) return body.batch
  return [{ ...body, id: String(headers['webhook-id']), attempt: Number(headers['carillon-attempt']) }]
}
