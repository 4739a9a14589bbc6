import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Random } from 'carillon/testing'
import type { Delivery } from './ledger.js'

/** What the receiver counted of one life. */
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
}

// Messages that are answered by 503, to be sent again.
const FAILURE_SHARE = 0.005

export interface WebhookReceiverParts {
  readonly seed: number
  readonly onDelivery: (delivery: Delivery) => void
  /** The life at the other end of a connection from this port. */
  readonly lifeOf: (port: number, to: number) => string
}

/** Gets the webhooks of all instances, and counts for each life what came from it and how it was answered. */
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
      this.#count(by, items.length, isDone)
      for (const { id, attempt, key, timestamp } of items)
        this.#parts.onDelivery({ key, id, attempt, dueAt: Date.parse(timestamp), at, by, isDone })
      response.writeHead(isDone ? 200 : 503).end()
    })
  }

  #count(by: string, items: number, isDone: boolean): void {
    let count = this.counts.get(by)
    if (count === undefined) this.counts.set(by, (count = { deliveries: 0, done: 0, failed: 0 }))
    count.deliveries += items
    count[isDone ? 'done' : 'failed'] += items
  }
}

type Body = Omit<Item, 'id' | 'attempt'> | { readonly batch: readonly Item[] }

function itemsOf({ headers }: IncomingMessage, body: Body): readonly Item[] {
  if ('batch' in body) return body.batch
  return [{ ...body, id: String(headers['webhook-id']), attempt: Number(headers['carillon-attempt']) }]
}
