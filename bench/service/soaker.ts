import { Connection, type Served } from './connection.js'
import { answerTasks } from './other-process.js'

export interface SoakTask extends Served {
  readonly seconds: number
  readonly connections: number
  /** The number of keys for timers for later: the most that exist at once. */
  readonly keys: number
  /** The first key of this task. It continues from there, and wraps around. */
  readonly firstKey: number
}

export interface Soaked {
  readonly set: number
  readonly fired: number
  readonly cancelled: number
  readonly listed: number
  readonly refused: number
}

const ROWS = 100
const FIRED = 20

/**
 * Mixed load, as fast as the server answers: a batch that replaces timers for later, single sets and cancellations among
 * them, timers that fire immediately and are leased and acked, and now and then a list page.
 */
async function soaked({ seconds, connections, keys, firstKey, ...served }: SoakTask): Promise<Soaked> {
  const until = performance.now() + seconds * 1000
  const done = { set: 0, fired: 0, cancelled: 0, listed: 0 }
  let next = firstKey
  const nextKey = (): string => `k${next++ % keys}`
  const payload = { orderId: '12345678', note: 'a basket that somebody left behind' }
  const later = JSON.stringify({ in: '1h', payload })
  const refused = await Promise.all(
    Array.from({ length: connections }, async (_, index) => {
      const connection = new Connection(served)
      for (let turn = index; performance.now() < until; turn++) {
        const rows = Array.from({ length: ROWS }, () => ({
          kind: 'later',
          key: nextKey(),
          in: '1h',
          payload,
        }))
        await connection.send('POST', '/v1/batch', JSON.stringify(rows))
        const key = nextKey()
        await connection.send('PUT', `/v1/timers/later/${key}`, later)
        await connection.send('DELETE', `/v1/timers/later/${key}`, null)
        const due = Array.from({ length: FIRED }, (__, at) => ({
          kind: 'bench',
          key: `${index}/${at}`,
          in: 0,
        }))
        await connection.send('POST', '/v1/batch', JSON.stringify(due))
        done.set += ROWS + 1 + FIRED
        done.cancelled++
        for (const receipt of await connection.lease('bench', FIRED, 100)) {
          await connection.ack(receipt)
          done.fired++
        }
        if (turn % 16 !== 0) continue
        await connection.send('GET', '/v1/timers?kind=later&limit=100', null)
        done.listed++
      }
      await connection.close()
      return connection.refused
    }),
  )
  return { ...done, refused: refused.reduce((sum, count) => sum + count, 0) }
}

answerTasks(soaked)
