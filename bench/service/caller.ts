import { fork, type ChildProcess } from 'node:child_process'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { Client, type Dispatcher } from 'undici'

export interface CallTask {
  readonly url: string
  readonly token: string
  /** Requests in all, and how many are under way at once. */
  readonly requests: number
  readonly connections: number
  /** Timers in each: 1 for `PUT /v1/timers/…`, more for `POST /v1/batch`. */
  readonly rows: number
}

export interface Called {
  readonly ms: number
  /** Answers other than 200. */
  readonly refused: number
}

/** Whoever calls a server, in a process of its own. */
export class Caller {
  readonly #child: ChildProcess = fork(fileURLToPath(import.meta.url), ['call'])

  call(task: CallTask): Promise<Called> {
    return new Promise((resolve, reject) => {
      this.#child.once('exit', (code) => reject(new Error(`the caller ended with ${code}`)))
      this.#child.once('message', (message) => {
        this.#child.removeAllListeners('exit')
        resolve(message as Called)
      })
      this.#child.send(task)
    })
  }

  stop(): void {
    this.#child.removeAllListeners()
    this.#child.kill()
  }
}

async function called({ url, token, requests, connections, rows }: CallTask): Promise<Called> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const clients = Array.from({ length: connections }, () => new Client(url))
  const payload = { orderId: '12345678', note: 'a basket that somebody left behind' }
  const single = JSON.stringify({ in: '1h', payload })
  let refused = 0
  let left = requests
  let key = 0
  const send = (client: Client): Promise<void> =>
    new Promise((resolve, reject) => {
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart: () => undefined,
        onResponseStart: (_, status) => void (status === 200 || refused++),
        onResponseData: () => undefined,
        onResponseEnd: () => resolve(),
        onResponseError: (_, error) => reject(error),
      }
      if (rows === 1) {
        client.dispatch({ path: `/v1/timers/bench/k${key++}`, method: 'PUT', headers, body: single }, handler)
        return
      }
      const batch = Array.from({ length: rows }, () => ({
        kind: 'bench',
        key: `k${key++}`,
        in: '1h',
        payload,
      }))
      client.dispatch({ path: '/v1/batch', method: 'POST', headers, body: JSON.stringify(batch) }, handler)
    })
  const from = performance.now()
  await Promise.all(
    clients.map(async (client) => {
      while (left-- > 0) await send(client)
    }),
  )
  const ms = performance.now() - from
  await Promise.all(clients.map((client) => client.close()))
  return { ms, refused }
}

if (process.argv[2] === 'call') {
  process.on('message', (task) => void called(task as CallTask).then((answer) => process.send!(answer)))
}
