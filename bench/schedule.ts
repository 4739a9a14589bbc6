/**
 * One million `next` calls per kind of schedule, one after the other and at random instants, against croner and
 * cron-parser in the same run. The peers get as many calls as fit their time, because a million of theirs would
 * take minutes each: what is compared is the time per call. `npm run bench schedule [-- --peer-seconds 10]`
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import {
  cron,
  daily,
  every,
  monthly,
  rrule,
  type Schedule,
  tzdataVersion,
  weekly,
  yearly,
} from 'carillon/schedule'
import { CronExpressionParser } from 'cron-parser'
import { Cron } from 'croner'

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '1000000' },
    'peer-seconds': { type: 'string', default: '3' },
  },
})
const calls = Number(values.calls)
const peerMs = Number(values['peer-seconds']) * 1000

const zone = 'America/New_York'
const from = Date.UTC(2026, 0, 1)
const to = Date.UTC(2036, 0, 1)

interface Kind {
  readonly name: string
  readonly schedule: Schedule
  /** The same as an expression for the peers, where they can say it. */
  readonly croner?: string
  readonly cronParser?: string
  readonly zone: string
}

function expressed(name: string, expression: string, inZone: string): Kind {
  const schedule = cron(expression, { zone: inZone })
  return {
    name: `${name}: ${expression}`,
    schedule,
    croner: expression,
    cronParser: expression,
    zone: inZone,
  }
}

const start = '2020-01-01T09:00'
const kinds: readonly Kind[] = [
  expressed('cron, UTC', '*/5 * * * *', 'UTC'),
  expressed('cron', '*/5 * * * *', zone),
  expressed('cron, hours', '0 9-17 * * MON-FRI', zone),
  expressed('cron, fixed', '30 9 * * *', zone),
  expressed('cron, seconds', '*/10 * * * * *', zone),
  expressed('cron, last day', '0 0 L * *', zone),
  { ...expressed('cron, third Friday', '0 9 * * 5#3', zone) },
  expressed('cron, leap day', '0 0 29 2 *', zone),
  {
    name: 'every 15m',
    schedule: every('15m'),
    croner: '*/15 * * * *',
    cronParser: '*/15 * * * *',
    zone: 'UTC',
  },
  {
    name: 'daily at 09:00',
    schedule: daily({ at: '09:00', zone }),
    croner: '0 9 * * *',
    cronParser: '0 9 * * *',
    zone,
  },
  {
    name: 'weekly on Monday',
    schedule: weekly({ on: 'monday', at: '09:00', zone }),
    croner: '0 9 * * 1',
    cronParser: '0 9 * * 1',
    zone,
  },
  {
    name: 'monthly on day 31, or the last',
    schedule: monthly({ day: 31, at: '09:00', zone }),
    croner: '0 9 L * *',
    cronParser: '0 9 L * *',
    zone,
  },
  {
    name: 'yearly on February 29, or 28',
    schedule: yearly({ month: 2, day: 29, at: '09:00', zone }),
    croner: '0 9 L 2 *',
    cronParser: '0 9 L 2 *',
    zone,
  },
  {
    name: 'rrule, last Friday of the month',
    schedule: rrule('FREQ=MONTHLY;BYDAY=-1FR', { start, zone }),
    croner: '0 9 * * 5#L',
    cronParser: '0 9 * * 5L',
    zone,
  },
  {
    name: 'rrule, every other week',
    schedule: rrule('FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR', { start, zone }),
    zone,
  },
  {
    name: 'rrule, last workday of the month',
    schedule: rrule('FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1', { start, zone }),
    croner: '0 9 LW * *',
    zone,
  },
  {
    name: 'rrule, every hour',
    schedule: rrule('FREQ=HOURLY', { start, zone }),
    croner: '0 * * * *',
    cronParser: '0 * * * *',
    zone,
  },
]

type Next = (after: number) => number

const instants = Float64Array.from({ length: 65_536 }, spread(from, to))

/** Nanoseconds per call, each from where the last one ended. */
function inOrder(next: Next, most: number, budgetMs: number): { readonly ns: number; readonly made: number } {
  let at = from
  return timed(most, budgetMs, () => {
    at = next(at)
    if (!(at < to)) at = from
  })
}

function atRandom(
  next: Next,
  most: number,
  budgetMs: number,
): { readonly ns: number; readonly made: number } {
  let i = 0
  return timed(most, budgetMs, () => {
    next(instants[i++ & 0xffff]!)
  })
}

function timed(
  most: number,
  budgetMs: number,
  work: () => void,
): { readonly ns: number; readonly made: number } {
  const batch = Math.min(most, budgetMs === Infinity ? most : 20)
  let made = 0
  const before = performance.now()
  let spent = 0
  while (made < most && spent < budgetMs) {
    for (let i = 0; i < batch; i++) work()
    made += batch
    spent = performance.now() - before
  }
  return { ns: (spent / made) * 1e6, made }
}

function ours({ schedule }: Kind): Next {
  return (after) => schedule.next(after) ?? Infinity
}

function cronerNext(expression: string, inZone: string): Next {
  const job = new Cron(expression, { timezone: inZone, paused: true })
  return (after) => job.nextRun(new Date(after))?.getTime() ?? Infinity
}

function cronParserNext(expression: string, inZone: string): Next {
  const parsed = CronExpressionParser.parse(expression, { tz: inZone })
  return (after) => {
    parsed.reset(new Date(after))
    return parsed.next().getTime()
  }
}

function spread(first: number, last: number): () => number {
  let state = 0x2545f491
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return first + Math.floor((state / 2 ** 32) * (last - first))
  }
}

/** How many of the first occurrences of the year are the same: the peers must be doing the same work. */
function agreement(own: Next, peer: Next): string {
  const wanted = Array.from({ length: 12 }, inTurn(own))
  const found = Array.from({ length: 12 }, inTurn(peer))
  const same = wanted.filter((at, i) => at === found[i]).length
  return same === 12 ? '' : ` (${same} of 12 agree)`
}

function inTurn(next: Next): () => number {
  let at = from
  return () => (at = next(at))
}

const pad = (text: string, width: number) => text.padEnd(width)
const ns = (value: number) => `${Math.round(value)} ns`.padStart(9)
const peerText = (own: number, peer: { readonly ns: number; readonly made: number }) =>
  `${(peer.ns / 1000).toFixed(1)} µs, ${Math.round(peer.ns / own)}×, ${peer.made} calls`

process.stdout.write(
  `${calls} next calls per kind of ours, tz database ${tzdataVersion()}, Node ${process.versions.node}\n` +
    'peers: time per call in order, how many times ours, calls made\n\n' +
    `${pad('kind', 40)}${'in order'.padStart(9)}${'random'.padStart(10)}   ${pad('croner', 34)}cron-parser\n`,
)
for (const kind of kinds) {
  const own = ours(kind)
  // Once through, so that zones are read and code is compiled for either side.
  atRandom(own, 20_000, Infinity)
  inOrder(own, 20_000, Infinity)
  const order = inOrder(own, calls, Infinity)
  const random = atRandom(own, calls, Infinity)
  const columns = [
    kind.croner === undefined ? undefined : cronerNext(kind.croner, kind.zone),
    kind.cronParser === undefined ? undefined : cronParserNext(kind.cronParser, kind.zone),
  ].map((peer) => {
    if (peer === undefined) return 'cannot say it'
    const agrees = agreement(own, peer)
    return peerText(order.ns, inOrder(peer, calls, peerMs)) + agrees
  })
  process.stdout.write(
    `${pad(kind.name, 40)}${ns(order.ns)} ${ns(random.ns)}   ${pad(columns[0]!, 34)}${columns[1]!}\n`,
  )
}
