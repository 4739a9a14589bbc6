import { fork, type ChildProcess } from 'node:child_process'
import { createServer } from 'node:http'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

/** A receiver in its own process. It reads and counts every request, and answers 204 or never. */
export class Receiver {
  readonly #child: ChildProcess
  readonly url: string

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.url = `http://127.0.0.1:${port}`
  }

  static async start(): Promise<Receiver> {
    const child = fork(fileURLToPath(import.meta.url), ['receive'])
    const port = await new Promise<number>((resolve, reject) => {
      child.once('message', (message) => resolve(message as number))
      child.once('exit', (code) => reject(new Error(`the receiver exited with code ${code}`)))
    })
    return new Receiver(child, port)
  }

  async count(): Promise<number> {
    return await new Promise((resolve) => {
      this.#child.once('message', (message) => resolve(message as number))
      this.#child.send('count')
    })
  }

  stop(): void {
    this.#child.removeAllListeners()
    this.#child.kill()
  }
}

if (process.argv[2] === 'receive') {
  let count = 0
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      count++
      if (request.url !== '/stalled') response.writeHead(204).end()
    })
  })
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    if (address !== null && typeof address === 'object') process.send!(address.port)
  })
  process.on('message', () => process.send!(count))
}
