import { parseDuration, systemClock } from '../../../time/index.js'
import { apiCommand, type CommandContext } from '../api-command.js'
import { type Command, stringOption } from '../../command.js'
import { integerOption } from '../options.js'

const CLEAR = '\u001B[2J\u001B[H'
const COLUMNS = [
  'time',
  'pending',
  'set/s',
  'fired/s',
  'settled/s',
  'dead',
  'p50 ms',
  'p99 ms',
  'shards',
  'ready',
]

interface Statistics {
  readonly pending: number
  readonly store: Readonly<Record<'created' | 'settled' | 'cancelled' | 'replaced' | 'dead', number>>
  readonly instance: Readonly<Record<string, number>>
  readonly lateness: { readonly count: number; readonly p50Ms: number; readonly p99Ms: number }
}

/** What one interval shows. */
interface Sample {
  readonly at: number
  readonly pending: number
  readonly setPerSecond: number
  readonly firedPerSecond: number
  readonly settledPerSecond: number
  readonly dead: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly ownShards: number
  readonly faults: readonly string[]
}

export const top: Command = apiCommand({
  name: 'top',
  usage: '[options]',
  summary: 'Watch a server: timers set, fired and settled per second.',
  options: { interval: stringOption, count: stringOption },
  help: [
    ['--interval', 'the time between two samples (2s)'],
    ['--count', 'how many samples (until it is stopped)'],
    ['', 'Redraws in place on a terminal. Otherwise it prints a table, one line per sample.'],
  ],
  examples: [
    'carillon top',
    'carillon top --interval 10s --count 6',
    'carillon top --json >> samples.ndjson',
  ],
  positionals: [0, 0],
  execute: async (context) => {
    const everyMs = parseDuration(context.option('interval') ?? '2s')
    const most = integerOption('--count', context.option('count'), 1) ?? Infinity
    let before = await takeSnapshot(context)
    let lines = 0
    for (let count = 0; count < most; count++) {
      await sleep(everyMs)
      const now = await takeSnapshot(context)
      const sample = sampleOf(before, now)
      before = now
      if (context.isJson) context.terminal.out(`${JSON.stringify(sample)}\n`)
      else if (context.terminal.isScreen)
        context.terminal.out(CLEAR + screenOf(context.api.url, sample, now.statistics))
      else context.terminal.out((lines++ % 20 === 0 ? `${row(COLUMNS)}\n` : '') + `${row(cellsOf(sample))}\n`)
    }
    return undefined
  },
})

interface Snapshot {
  readonly at: number
  readonly statistics: Statistics
  readonly ownShards: number
  readonly faults: readonly string[]
}

async function takeSnapshot({ api }: CommandContext): Promise<Snapshot> {
  const [statistics, { shards }, { self }, faults] = await Promise.all([
    api.call<Statistics>('GET', '/v1/statistics'),
    api.call<{ shards: { owner: string }[] }>('GET', '/v1/shards'),
    api.call<{ self: string }>('GET', '/v1/members'),
    api.faults(),
  ])
  const ownShards = shards.filter(({ owner }) => owner === self).length
  return { at: systemClock.now(), statistics, ownShards, faults }
}

function sampleOf(before: Snapshot, now: Snapshot): Sample {
  const seconds = Math.max(0.001, (now.at - before.at) / 1000)
  const rate = (of: (statistics: Statistics) => number): number =>
    Math.round(((of(now.statistics) - of(before.statistics)) / seconds) * 10) / 10
  const { pending, store, lateness } = now.statistics
  return {
    at: now.at,
    pending,
    setPerSecond: rate((of) => of.store.created),
    firedPerSecond: rate((of) => of.instance['fired'] ?? 0),
    settledPerSecond: rate((of) => of.store.settled),
    dead: store.dead,
    p50Ms: lateness.p50Ms,
    p99Ms: lateness.p99Ms,
    ownShards: now.ownShards,
    faults: now.faults,
  }
}

function cellsOf(sample: Sample): string[] {
  return [
    new Date(sample.at).toISOString().slice(11, 19),
    String(sample.pending),
    String(sample.setPerSecond),
    String(sample.firedPerSecond),
    String(sample.settledPerSecond),
    String(sample.dead),
    String(sample.p50Ms),
    String(sample.p99Ms),
    String(sample.ownShards),
    sample.faults.length === 0 ? 'yes' : 'NO',
  ]
}

function row(cells: readonly string[]): string {
  return cells
    .map((cell) => cell.padStart(10))
    .join('')
    .trimEnd()
}

function screenOf(url: string, sample: Sample, { store }: Statistics): string {
  const pairs: [string, string | number][] = [
    ['pending', sample.pending],
    ['set per second', sample.setPerSecond],
    ['fired per second, by this instance', sample.firedPerSecond],
    ['settled per second', sample.settledPerSecond],
    ['lateness p50, p99', `${sample.p50Ms} ms, ${sample.p99Ms} ms`],
    ['shards of this instance', sample.ownShards],
    [
      'set, settled, cancelled, replaced',
      [store.created, store.settled, store.cancelled, store.replaced].join(', '),
    ],
    ['dead', sample.dead],
    ['ready', sample.faults.length === 0 ? 'yes' : 'no'],
  ]
  const width = Math.max(...pairs.map(([name]) => name.length))
  return [
    `carillon top  ${url}  ${new Date(sample.at).toISOString()}`,
    '',
    ...pairs.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`),
    ...sample.faults.map((fault) => `  ! ${fault}`),
    '',
  ].join('\n')
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => systemClock.wakeAfter(ms, resolve))
}
