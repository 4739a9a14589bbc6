import { Connection, type Served } from './connection.js'
import { answerTasks } from './other-process.js'

export interface CallTask extends Served {
  /** The number of requests, and how many are in flight at once. */
  readonly requests: number
  readonly connections: number
  /** Timers per request: 1 for `PUT /v1/timers/…`, more for `POST /v1/batch`. */
  readonly rows: number
  /** When the timers are due, from now. */
  readonly in: string
}

export interface Called {
  readonly ms: number
  /** Responses other than 200. */
  readonly refused: number
}

/** Sets timers on a server as fast as it answers. */
async function called({ requests, connections, rows, in: due, ...served }: CallTask): Promise<Called> {
  const all = Array.from({ length: connections }, () => new Connection(served))
  const payload = { orderId: '12345678', note: 'a basket that somebody left behind' }
  const single = JSON.stringify({ in: due, payload })
  let left = requests
  let key = 0
  const send = (connection: Connection): Promise<void> => {
    if (rows === 1) return connection.send('PUT', `/v1/timers/bench/k${key++}`, single)
    const batch = Array.from({ length: rows }, () => ({ kind: 'bench', key: `k${key++}`, in: due, payload }))
    return connection.send('POST', '/v1/batch', JSON.stringify(batch))
  }
  const from = performance.now()
  await Promise.all(
    all.map(async (connection) => {
      while (left-- > 0) await send(connection)
    }),
  )
  const ms = performance.now() - from
  await Promise.all(all.map((connection) => connection.close()))
  return { ms, refused: all.reduce((sum, { refused }) => sum + refused, 0) }
}

answerTasks(called)
