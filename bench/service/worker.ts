import { Connection, type Served } from './connection.js'
import { answerTasks } from './other-process.js'

export interface WorkTask extends Served {
  /** How many firings to ack. */
  readonly firings: number
  readonly workers: number
  /** The most firings that a worker leases at once. */
  readonly max: number
}

export interface Worked {
  /** From the first request for a lease to the last ack. */
  readonly ms: number
  readonly acked: number
  readonly refused: number
}

const WAIT_MS = 1000

/** Workers with one connection each. They wait for firings of the kind `bench`, and ack each with a separate request. */
async function worked({ firings, workers, max, ...served }: WorkTask): Promise<Worked> {
  const all = Array.from({ length: workers }, () => new Connection(served))
  let acked = 0
  const from = performance.now()
  let until = from
  await Promise.all(
    all.map(async (connection) => {
      while (acked < firings) {
        for (const receipt of await connection.lease('bench', max, WAIT_MS)) {
          await connection.ack(receipt)
          acked++
          until = performance.now()
        }
      }
    }),
  )
  await Promise.all(all.map((connection) => connection.close()))
  return { ms: until - from, acked, refused: all.reduce((sum, { refused }) => sum + refused, 0) }
}

answerTasks(worked)
