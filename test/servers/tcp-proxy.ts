import net from 'node:net'

/** A way to a server that can be cut: before anything arrives, or on the way back only. */
export class TcpProxy {
  readonly port: number
  readonly #server: net.Server
  readonly #pairs = new Set<readonly [client: net.Socket, server: net.Socket]>()
  #holdsAnswers = false
  #cutsAtAnswer = false
  #isClosed = false
  #cutAt: { readonly word: string; readonly when: 'asked' | 'answered' } | undefined

  private constructor(server: net.Server, target: number) {
    this.#server = server
    this.port = (server.address() as net.AddressInfo).port
    server.on('connection', (client) => this.#join(client, target))
  }

  static async to(target: number): Promise<TcpProxy> {
    const server = net.createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new TcpProxy(server, target)
  }

  /** From now on what the server says does not arrive. */
  holdAnswers(): void {
    this.#holdsAnswers = true
  }

  /** From now on a connection is cut as soon as the server says something, which does not arrive. */
  cutAtAnswer(): void {
    this.#cutsAtAnswer = true
  }

  /**
   * Cuts the next connection by which the word is sent: before it arrives, or when the server answers, which does not
   * arrive. Only that one.
   */
  cutOnceAt(word: string, when: 'asked' | 'answered'): void {
    this.#cutAt = { word, when }
  }

  /** From now on what the server says is not even taken from it: as by a process that was stopped. */
  stopReading(): void {
    for (const [, server] of this.#pairs) server.pause()
  }

  /** What was not taken from the server arrives now, late. */
  startReading(): void {
    for (const [, server] of this.#pairs) server.resume()
  }

  /** Nobody gets through, until `open`. */
  close(): void {
    this.#isClosed = true
    this.cut()
  }

  open(): void {
    this.#isClosed = false
    this.#holdsAnswers = false
    this.#cutsAtAnswer = false
  }

  /** Ends every connection, as a network would. */
  cut(): void {
    for (const [client, server] of this.#pairs) {
      client.resetAndDestroy()
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
    server.on('data', (bytes) => {
      if (this.#cutsAtAnswer || isDoomed) server.destroy()
      else if (!this.#holdsAnswers) client.write(bytes)
    })
  }
}
