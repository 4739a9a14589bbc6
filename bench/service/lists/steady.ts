import { setTimeout as sleep } from 'node:timers/promises'
import { Connection, type Served } from '../connection.js'
import { answerTasks } from '../other-process.js'

export interface SteadyTask extends Served {
  /** Timers per second, and for how long. */
  readonly rate: number
  readonly seconds: number
}

export interface Steady {
  readonly p50: number
  readonly p99: number
  readonly fired: number
}

const STEP_MS = 100
const AHEAD_MS = 1500
const WORKERS = 4
const MAX_LEASED = 100

/** Sets timers at a steady rate, leases those that are due, and measures how late they arrive here. */
async function steady({ rate, seconds, ...served }: SteadyTask): Promise<Steady> {
  const setter = new Connection(served)
  const workers = Array.from({ length: WORKERS }, () => new Connection(served))
  const lateness: number[] = []
  const until = Date.now() + seconds * 1000
  let key = 0
  const setting = (async () => {
    for (let at = Date.now(); at < until; at += STEP_MS) {
      const count = (rate * STEP_MS) / 1000
      const rows = Array.from({ length: count }, (_, i) => ({
        kind: 'steady',
        key: `steady-${key++}`,
        at: at + AHEAD_MS + Math.floor((i * STEP_MS) / count),
      }))
      await setter.send('POST', '/v1/batch', JSON.stringify(rows))
      await sleep(Math.max(0, at + STEP_MS - Date.now()))
    }
  })()
  const working = workers.map(async (worker) => {
    while (Date.now() < until + AHEAD_MS) {
      const answer = await worker.ask('POST', '/v1/leases', {
        kinds: ['steady'],
        max: MAX_LEASED,
        waitMs: 500,
      })
      const { firings = [] } = answer as { firings?: readonly { receipt: string; dueAt: number | string }[] }
      const now = Date.now()
      for (const { dueAt } of firings) lateness.push(now - new Date(dueAt).getTime())
      await Promise.all(firings.map(({ receipt }) => worker.ack(receipt)))
    }
  })
  await Promise.all([setting, ...working])
  await Promise.all([setter, ...workers].map((connection) => connection.close()))
  lateness.sort((a, b) => a - b)
  const at = (share: number): number =>
    lateness[Math.min(lateness.length - 1, Math.floor(lateness.length * share))] ?? 0
  return { p50: at(0.5), p99: at(0.99), fired: lateness.length }
}

answerTasks(steady)
