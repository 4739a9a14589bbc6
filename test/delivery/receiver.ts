import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly at: number
}

/** A receiver of webhooks on this machine: it remembers what came and answers as it is told. */
export class Receiver {
  readonly received: Received[] = []
  readonly #server: Server
  readonly url: string

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  static async start(
    answer: (response: ServerResponse, received: Received, request: IncomingMessage) => void,
  ): Promise<Receiver> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const received = {
          path: request.url ?? '',
          headers: request.headers as Record<string, string>,
          body: Buffer.concat(chunks).toString(),
          at: Date.now(),
        }
        receiver.received.push(received)
        answer(response, received, request)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const receiver = new Receiver(server)
    return receiver
  }

  /** Those that came for a key. */
  of(key: string): Received[] {
    return this.received.filter(({ body }) => (JSON.parse(body) as { key: string }).key === key)
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
