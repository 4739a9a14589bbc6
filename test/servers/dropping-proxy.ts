import { createServer, connect, type Server, type Socket } from 'node:net'

/** A proxy before a server of a test, which can cut connections at the worst moment. */
export class DroppingProxy {
  readonly port: number
  readonly #server: Server
  readonly #sockets: Set<Socket>
  /** What the server says is thrown away, and the connection with it, as soon as it says something. */
  dropsReplies = false
  /** Nobody new is let in. */
  isShut = false

  private constructor(server: Server, sockets: Set<Socket>) {
    this.#server = server
    this.#sockets = sockets
    this.port = (server.address() as { port: number }).port
  }

  static async start(port: number): Promise<DroppingProxy> {
    const sockets = new Set<Socket>()
    const server = createServer((client) => {
      if (proxy.isShut) {
        client.destroy()
        return
      }
      const upstream = connect(port, '127.0.0.1')
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        sockets.add(from)
        from.on('error', () => undefined)
        from.on('close', () => {
          sockets.delete(from)
          to.destroy()
        })
        from.on('data', (bytes) => {
          if (from === upstream && proxy.dropsReplies) from.destroy()
          else to.write(bytes)
        })
      }
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const proxy = new DroppingProxy(server, sockets)
    return proxy
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async stop(): Promise<void> {
    this.cut()
    await new Promise((resolve) => void this.#server.close(resolve))
  }
}
