import { setTimeout as sleep } from 'node:timers/promises'
import { Connection, type Served } from './connection.js'
import { answerTasks } from './other-process.js'

export interface TenantTask extends Served {
  readonly seconds: number
}

export interface Lateness {
  readonly fired: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly refused: number
}

const EVERY_MS = 10
const DUE_IN_MS = 200
const WORKERS = 4

/** A modest tenant: a timer every 10 ms, due in 200 ms. Its workers measure how late they get the firings. */
async function served({ seconds, ...at }: TenantTask): Promise<Lateness> {
  const setter = new Connection(at)
  const workers = Array.from({ length: WORKERS }, () => new Connection(at))
  const late: number[] = []
  const ended = { is: false }
  const work = async (connection: Connection): Promise<void> => {
    while (!ended.is) {
      const answer = await connection.ask('POST', '/v1/leases', { kinds: ['tenant'], max: 10, waitMs: 500 })
      const { firings = [] } = answer as { firings?: readonly { receipt: string; dueAt: number }[] }
      const now = Date.now()
      for (const { receipt, dueAt } of firings) {
        late.push(Math.max(0, now - dueAt))
        await connection.ack(receipt)
      }
    }
  }
  const working = workers.map(work)
  const until = performance.now() + seconds * 1000
  for (let key = 0; performance.now() < until; key++) {
    await setter.send('PUT', `/v1/timers/tenant/k${key}`, JSON.stringify({ in: DUE_IN_MS }))
    await sleep(EVERY_MS)
  }
  await sleep(2 * DUE_IN_MS)
  ended.is = true
  await Promise.all(working)
  const all = [setter, ...workers]
  await Promise.all(all.map((connection) => connection.close()))
  late.sort((a, b) => a - b)
  const quantile = (share: number): number =>
    late[Math.min(late.length - 1, Math.floor(late.length * share))] ?? 0
  return {
    fired: late.length,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    refused: all.reduce((sum, { refused }) => sum + refused, 0),
  }
}

answerTasks(served)
