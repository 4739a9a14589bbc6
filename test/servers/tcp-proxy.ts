import net from 'node:net'

/** A TCP proxy to a server. It can cut connections, or hold back the server's answers only. */
export class TcpProxy {
  readonly port: number
  readonly #server: net.Server
  readonly #pairs = new Set<readonly [client: net.Socket, server: net.Socket]>()
  #holdsAnswers = false
  #cutsAtAnswer = false
  #delayMs = 0
  #isClosed = false
  #cutAt: { readonly word: string; readonly when: 'asked' | 'answered' } | undefined
  readonly #answers: (() => (chunk: Buffer) => Buffer) | undefined

  private constructor(server: net.Server, target: number, answers?: () => (chunk: Buffer) => Buffer) {
    this.#server = server
    this.#answers = answers
    this.port = (server.address() as net.AddressInfo).port
    server.on('connection', (client) => this.#join(client, target))
  }

  /** `answers` is called once for each connection. The function that it returns changes what the server sends. */
  static async to(target: number, answers?: () => (chunk: Buffer) => Buffer): Promise<TcpProxy> {
    const server = net.createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new TcpProxy(server, target, answers)
  }

  /** From now on, drops what the server sends. */
  holdAnswers(): void {
    this.#holdsAnswers = true
  }

  /** From now on, cuts a connection as soon as the server sends something, and drops that. */
  cutAtAnswer(): void {
    this.#cutsAtAnswer = true
  }

  /**
   * Cuts the next connection on which the client sends `word`. With `asked`, the word does not reach the server. With
   * `answered`, its answer does not reach the client.
   */
  cutOnceAt(word: string, when: 'asked' | 'answered'): void {
    this.#cutAt = { word, when }
  }

  /** From now on, reads nothing from the server, like a process that was stopped. */
  stopReading(): void {
    for (const [, server] of this.#pairs) server.pause()
  }

  /** Reads from the server again, so that held data arrives late. */
  startReading(): void {
    for (const [, server] of this.#pairs) server.resume()
  }

  /** From now on, every answer of the server arrives this much later. */
  slowDown(delayMs: number): void {
    this.#delayMs = delayMs
  }

  /** Cuts all connections and refuses new ones until `open`. */
  close(): void {
    this.#isClosed = true
    this.cut()
  }

  open(): void {
    this.#isClosed = false
    this.#holdsAnswers = false
    this.#cutsAtAnswer = false
  }

  /** Ends every connection, as a network fault would. */
  cut(): void {
    for (const [client, server] of this.#pairs) {
      // Node cannot reset a socket that is ending: its handle would stay open, and the event loop would spin on it.
      if (client.writableEnded) client.destroy()
      else client.resetAndDestroy()
      server.destroy()
    }
    this.#pairs.clear()
  }

  async stop(): Promise<void> {
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #join(client: net.Socket, target: number): void {
    if (this.#isClosed) {
      client.resetAndDestroy()
      return
    }
    const server = net.connect(target, '127.0.0.1')
    const pair = [client, server] as const
    this.#pairs.add(pair)
    for (const socket of pair) {
      socket.on('error', () => undefined)
      socket.on('close', () => {
        this.#pairs.delete(pair)
        for (const one of pair) one.destroy()
      })
    }
    let isDoomed = false
    const changed = this.#answers?.() ?? ((chunk: Buffer): Buffer => chunk)
    client.on('data', (bytes) => {
      const cutAt = this.#cutAt
      if (cutAt !== undefined && bytes.includes(cutAt.word)) {
        this.#cutAt = undefined
        if (cutAt.when === 'asked') {
          client.resetAndDestroy()
          return
        }
        isDoomed = true
      }
      server.write(bytes)
    })
    let lastAt = 0
    server.on('data', (bytes) => {
      if (this.#cutsAtAnswer || isDoomed) server.destroy()
      else if (!this.#holdsAnswers) {
        const now = performance.now()
        // The answers of a connection stay in order when the delay becomes shorter.
        lastAt = Math.max(lastAt, now + this.#delayMs)
        if (lastAt <= now) client.write(changed(bytes))
        else setTimeout(() => client.writable && client.write(changed(bytes)), lastAt - now)
      }
    })
  }
}
