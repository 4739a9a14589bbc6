import { lower, type Metric } from '../../harness/bench.js'

export type ListedStore = 'file' | 'postgres' | 'redis'

/** What the bench asks a list for, among timers that `fillStore` makes. */
export interface Question {
  /** The name of its metric. */
  readonly name: string
  readonly means: string
  /** The query of `GET /v1/timers`. */
  readonly query: string
  readonly path?: string
  readonly namespace?: string
  /** How many pages to read in a row, at most. Default 5. */
  readonly pages?: number
}

/** How far ahead the timers are due, from the first to the last. */
export const SPREAD = Object.freeze({ fromMs: 3_600_000, overMs: 30 * 86_400_000 })

/** What few timers have. */
export const RARE = Object.freeze({ kind: 'rare', tag: 'needle', count: 20 })

const middle = Date.now() + SPREAD.fromMs + SPREAD.overMs / 2

export const questions: readonly Question[] = [
  { name: 'all', means: 'without a filter', query: '' },
  { name: 'deep', means: '50 pages of 1,000 in a row', query: 'limit=1000', pages: 50 },
  {
    name: 'minute',
    means: 'due within one minute, 15 days ahead',
    query: `dueFrom=${middle}&dueUntil=${middle + 60_000}`,
  },
  { name: 'prefix', means: 'a key prefix of one in 1,000', query: 'keyPrefix=user-77-' },
  { name: 'one', means: 'a key prefix of one timer', query: 'keyPrefix=user-770-order-10770' },
  { name: 'nobody', means: 'a key prefix of no timer', query: 'keyPrefix=nobody' },
  { name: 'part', means: 'a part of the key of one in 1,000', query: 'keyPart=r-77-o' },
  { name: 'no part', means: 'a part that no key has', query: 'keyPart=nobody' },
  { name: 'kind', means: 'a kind of two in five', query: 'kind=call' },
  { name: 'rare kind', means: `a kind of ${RARE.count} timers`, query: `kind=${RARE.kind}` },
  { name: 'tag', means: 'a tag of one in 16', query: 'tag=vip' },
  { name: 'rare tag', means: `a tag of ${RARE.count} timers`, query: `tag=${RARE.tag}` },
  { name: 'paused', means: 'paused timers, of which there are none', query: 'state=paused' },
  { name: 'firing', means: 'firing timers', query: 'state=firing' },
  { name: 'retrying', means: 'timers that are tried again: none', query: 'state=retrying' },
  { name: 'recurring', means: 'timers with a schedule: none', query: 'recurring=true' },
  { name: 'empty', means: 'a namespace without timers', query: '', namespace: 'nothing' },
  { name: 'count', means: 'the count of a kind', query: 'kind=call', path: '/v1/timers/count' },
]

export const listMetrics: readonly Metric[] = [
  ...questions.flatMap(({ name, means }) => [
    lower(`${name} p50`, 'ms', `a page of a list: ${means}`),
    lower(`${name} p95`, 'ms', 'the same, at the 95th percentile'),
  ]),
  lower('quiet p99', 'ms', 'the lateness of the steady load at a worker, with nothing else'),
  lower('listed p99', 'ms', 'the same, while lists are read without a pause'),
  lower('lateness', '×', 'listed p99 divided by quiet p99, each at least a millisecond'),
]
