import { type Command, stringOption } from '../../command.js'
import { searchOf } from '../../api-client.js'
import { apiCommand, instantText } from '../api-command.js'
import { integerOption } from '../options.js'

interface Counts {
  readonly pending: number
  readonly overdue: number
  readonly waiting: number
  readonly inFlight: number
  readonly retrying: number
  readonly paused: number
  readonly dead: number
}

interface KindOverview extends Counts {
  readonly kind: string
  readonly pause?: { readonly note?: string; readonly by?: string }
  readonly breaker?: string
  readonly handledBy: readonly string[]
  readonly perSecond: Readonly<Record<string, number>>
}

const overview = apiCommand({
  name: 'overview',
  usage: '',
  summary: 'Show the kinds of a namespace with their counts, summed over all instances.',
  options: {},
  help: [['', 'The store is counted in the background; the last line says when.']],
  examples: ['carillon overview', 'carillon overview --namespace shop --json'],
  positionals: [0, 0],
  execute: async ({ api, print }) => {
    const answer = await api.call<{
      kinds: KindOverview[]
      totals: Counts
      counted: { countedAt?: number }
      instances: { known: number; answered: number }
    }>('GET', '/v1/overview')
    for (const each of answer.kinds) print(each, `${each.kind}  ${countsText(each)}${kindText(each)}`)
    const { totals, counted, instances } = answer
    const countedText = counted.countedAt === undefined ? 'not yet' : instantText(counted.countedAt)
    print(
      { totals, counted, instances },
      `all  ${countsText(totals)}; counted ${countedText}; ${instances.answered} of ${instances.known} instances answered`,
    )
    return undefined
  },
})

function countsText({ pending, overdue, waiting, inFlight, retrying, paused, dead }: Counts): string {
  const parts = Object.entries({ overdue, waiting, running: inFlight, retrying, paused, dead })
  const shown = parts.filter(([, count]) => count > 0).map(([name, count]) => `, ${count} ${name}`)
  return `${pending} pending${shown.join('')}`
}

function kindText({ pause, breaker, handledBy, perSecond }: KindOverview): string {
  const parts = [
    ...(pause === undefined ? [] : [`paused${pause.note === undefined ? '' : `: ${pause.note}`}`]),
    ...(breaker === undefined ? [] : [`target ${breaker}`]),
    ...(handledBy.length === 0 ? ['no instance handles it'] : []),
    ...((perSecond['fired'] ?? 0) > 0 ? [`${perSecond['fired']!.toFixed(2)} fired/s`] : []),
  ]
  return parts.length === 0 ? '' : `; ${parts.join('; ')}`
}

const series = apiCommand({
  name: 'series',
  usage: '[kind] [options]',
  summary: 'Show what happened in each step of the last hour or day: sets, attempts and outcomes.',
  options: { over: stringOption },
  help: [['--over', '1h: steps of 10 s (default); 1d: steps of a minute']],
  examples: ['carillon series', 'carillon series remind --over 1d --json'],
  positionals: [0, 1],
  execute: async ({ api, positionals: [kind], option, print }) => {
    interface Point {
      readonly at: number
      readonly fired: number
      readonly p99Ms?: number
    }
    const { points } = await api.call<{ points: (Point & Record<string, number>)[] }>(
      'GET',
      `/v1/series${searchOf({ kind, over: option('over') })}`,
    )
    for (const point of points) {
      const { at, p50Ms: _, p99Ms, ...counts } = point
      if (Object.values(counts).every((count) => count === 0)) continue
      const text = Object.entries(counts).map(([name, count]) => `${count} ${name}`)
      print(
        point,
        `${instantText(at)}  ${text.join(', ')}${p99Ms === undefined ? '' : `, p99 within ${p99Ms} ms`}`,
      )
    }
    return undefined
  },
})

const deadGroups = apiCommand({
  name: 'dead-groups',
  usage: '[kind] [options]',
  summary: 'Show dead letters by kind and reason, the most frequent first.',
  options: { from: stringOption, until: stringOption, slices: stringOption },
  help: [
    ['--from', 'only those that died at or after this instant'],
    ['--until', 'only those that died before this instant'],
    ['--slices', 'into how many parts the time is divided, for --json (24)'],
  ],
  examples: ['carillon dead-groups', 'carillon dead-groups remind --from 2027-01-31T09:00:00Z'],
  positionals: [0, 1],
  execute: async ({ api, positionals: [kind], option, print }) => {
    interface Group {
      readonly kind: string
      readonly reason: string
      readonly count: number
      readonly lastAt: number
    }
    const query = {
      kind,
      from: option('from'),
      until: option('until'),
      slices: integerOption('--slices', option('slices'), 1, 200),
    }
    const { groups } = await api.call<{ groups: Group[] }>('GET', `/v1/dead/groups${searchOf(query)}`)
    for (const each of groups)
      print(each, `${each.count}  ${each.kind}  ${each.reason}  (last ${instantText(each.lastAt)})`)
    return undefined
  },
})

/** Commands that show sums over all instances. */
export const viewCommands: readonly Command[] = [overview, series, deadGroups]
