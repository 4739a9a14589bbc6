import { createSocket, type Socket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'

/** A name server on this machine that answers every A question with the next address of a list. */
export class NameServer {
  readonly #socket: Socket
  readonly #addresses: readonly string[]
  questions = 0

  private constructor(socket: Socket, addresses: readonly string[]) {
    this.#socket = socket
    this.#addresses = addresses
    socket.on('message', (query, from) => {
      const address = this.#addresses[Math.min(this.questions++, this.#addresses.length - 1)]!
      socket.send(answerTo(query, address), from.port, from.address)
    })
  }

  static async start(addresses: readonly string[]): Promise<NameServer> {
    const socket = createSocket('udp4')
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
    return new NameServer(socket, addresses)
  }

  /** Asks this server and no other. */
  readonly resolve = async (host: string): Promise<readonly string[]> => {
    const resolver = new Resolver()
    resolver.setServers([`127.0.0.1:${this.#socket.address().port}`])
    return await resolver.resolve4(host)
  }

  stop(): void {
    this.#socket.close()
  }
}

function answerTo(query: Buffer, address: string): Buffer {
  const end = query.indexOf(0, 12) + 5
  const head = Buffer.from(query.subarray(0, 12))
  head.writeUInt16BE(0x8180, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(1, 6)
  head.writeUInt32BE(0, 8)
  const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)])
  return Buffer.concat([head, query.subarray(12, end), answer])
}
