import type { Dispatcher } from 'undici'
import { Connection, type Served } from './connection.js'
import { answerTasks } from './other-process.js'

export interface AttackTask extends Served {
  readonly attack: Attack
  readonly seconds: number
}

export interface Attacked {
  readonly requests: number
}

export const attacks = [
  'schedules',
  'batches',
  'every second',
  'lists',
  'forecasts',
  'previews',
  'counts',
] as const
export type Attack = (typeof attacks)[number]

type Request = readonly [method: Dispatcher.HttpMethod, path: string, body?: unknown]

const CONNECTIONS = 4
const never = { type: 'rrule', rule: 'FREQ=DAILY;INTERVAL=7;BYDAY=SU', start: '0001-01-01T00:00:00' }

/** What a caller with a write key may send, if it means harm. */
const requests: Readonly<Record<Attack, (n: number) => Request>> = {
  schedules: () => ['POST', '/v1/batch', rows(1000, (key) => ({ kind: 'attack', key, on: never }))],
  batches: (n) => [
    'POST',
    '/v1/batch',
    rows(5000, (key) => ({ kind: 'attack', key: `${n % 8}-${key}`, in: '1d' })),
  ],
  'every second': (n) => [
    'POST',
    '/v1/batch',
    rows(100, (key) => ({
      kind: 'log',
      key: `${n % 50}-${key}`,
      on: { type: 'cron', expression: '* * * * * *' },
    })),
  ],
  lists: () => ['GET', '/v1/timers?tag=nobody&keyPrefix=x&limit=1000'],
  forecasts: () => ['GET', '/v1/forecast?over=30d&slice=5m'],
  previews: () => ['POST', '/v1/schedules/preview', { on: '0 0 29 2 *', count: 100 }],
  counts: () => ['POST', '/v1/bulk/cancel', { filter: { keyPrefix: 'k' }, dryRun: true }],
}

function rows<Row>(count: number, of: (key: string) => Row): readonly Row[] {
  return Array.from({ length: count }, (_, n) => of(`k${n}`))
}

/** Sends requests of one kind without a pause, on a few connections. Refusals are fine. */
async function attacked({ attack, seconds, ...served }: AttackTask): Promise<Attacked> {
  const all = Array.from({ length: CONNECTIONS }, () => new Connection(served))
  const until = performance.now() + seconds * 1000
  let sent = 0
  await Promise.all(
    all.map(async (connection) => {
      while (performance.now() < until) {
        const [method, path, body] = requests[attack](sent++)
        await connection.send(method, path, body === undefined ? null : JSON.stringify(body))
      }
    }),
  )
  await Promise.all(all.map((connection) => connection.close()))
  return { requests: sent }
}

answerTasks(attacked)
