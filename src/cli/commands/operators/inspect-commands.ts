import { type Command, stringOption } from '../../command.js'
import { DEFAULT_LIMIT } from '../../defaults.js'
import { apiCommand, instantText } from '../api-command.js'
import { integerOption } from '../options.js'

const kinds = apiCommand({
  name: 'kinds',
  usage: '',
  summary: 'List the kinds of a namespace, with their targets and pauses.',
  options: {},
  help: [],
  examples: ['carillon kinds', 'carillon kinds --namespace shop --json'],
  positionals: [0, 0],
  execute: async ({ api, print }) => {
    const [named, { targets }, paused] = await Promise.all([
      api.call<{ kinds: string[] }>('GET', '/v1/kinds'),
      api.call<{ targets: { kind: string; type: string }[] }>('GET', '/v1/targets'),
      api.call<{ all: boolean; kinds: string[] }>('GET', '/v1/pauses'),
    ])
    for (const kind of named.kinds) {
      const target = targets.find((each) => each.kind === kind)?.type
      const isPaused = paused.all || paused.kinds.includes(kind)
      print(
        { kind, ...(target !== undefined && { target }), isPaused },
        `${kind}  ${target ?? 'no target: only a program that handles it gets its timers'}${isPaused ? ', paused' : ''}`,
      )
    }
    return undefined
  },
})

const pauses = apiCommand({
  name: 'pauses',
  usage: '',
  summary: 'Show what is paused: kinds, or everything.',
  options: {},
  help: [['', 'A single timer that is paused has the state paused in carillon list.']],
  examples: ['carillon pauses'],
  positionals: [0, 0],
  execute: async ({ api, print }) => {
    const answer = await api.call<{ all: boolean; kinds: string[] }>('GET', '/v1/pauses')
    const lines = [...(answer.all ? ['everything'] : []), ...answer.kinds]
    print(answer, lines.length === 0 ? 'nothing is paused' : lines.join('\n'))
    return undefined
  },
})

const history = apiCommand({
  name: 'history',
  usage: '[kind] [key] [options]',
  summary: 'Show what happened to timers, oldest first, as far as the history keeps it.',
  options: { from: stringOption, until: stringOption, limit: stringOption },
  help: [
    ['--from', 'only at or after this instant'],
    ['--until', 'only before this instant'],
    ['--limit', `the most to show (${DEFAULT_LIMIT})`],
  ],
  examples: ['carillon history remind', 'carillon history remind order:7 --from 2027-01-31T09:00:00Z'],
  positionals: [0, 2],
  execute: async ({ api, positionals, option, print }) => {
    interface Entry {
      readonly at: number
      readonly event: string
      readonly kind: string
      readonly key: string
    }
    const [kind, key] = positionals
    const query = { kind, key, from: option('from'), until: option('until') }
    const most = integerOption('--limit', option('limit'), 1) ?? DEFAULT_LIMIT
    for await (const entry of api.pages<Entry>('/v1/history', query, most)) {
      const { at, event, kind: ofKind, key: ofKey, ...more } = entry
      const details = Object.keys(more).length === 0 ? '' : `  ${JSON.stringify(more)}`
      print(entry, `${instantText(at)}  ${event}  ${ofKind} ${ofKey}${details}`)
    }
    return undefined
  },
})

const members = apiCommand({
  name: 'members',
  usage: '',
  summary: 'List the instances that fire timers of the store, and how many shards each owns.',
  options: {},
  help: [],
  examples: ['carillon members'],
  positionals: [0, 0],
  execute: async ({ api, print }) => {
    const [{ self, members: ids }, { shards: rows }] = await Promise.all([
      api.call<{ self: string; members: string[] }>('GET', '/v1/members'),
      api.call<{ shards: { owner: string }[] }>('GET', '/v1/shards'),
    ])
    for (const id of ids) {
      const owned = rows.filter(({ owner }) => owner === id).length
      print(
        { id, shards: owned, isAnswering: id === self },
        `${id}  ${owned} shards${id === self ? ', answers this call' : ''}`,
      )
    }
    return undefined
  },
})

const shards = apiCommand({
  name: 'shards',
  usage: '',
  summary: 'List the shards of the store: the owner and the levels of each.',
  options: {},
  help: [['', 'Timers of a shard without an owner do not fire.']],
  examples: ['carillon shards'],
  positionals: [0, 0],
  execute: async ({ api, print }) => {
    interface Shard {
      readonly shard: number
      readonly owner: string
      readonly epoch: number
      readonly leaseUntil: number
      readonly settledPosition: number
    }
    const answer = await api.call<{ shards: Shard[] }>('GET', '/v1/shards')
    for (const each of answer.shards) {
      const { shard, owner, epoch, leaseUntil, settledPosition } = each
      const owned = owner === '' ? 'no owner' : `${owner} until ${instantText(leaseUntil)}`
      print(each, `${shard}  ${owned}  epoch ${epoch}, settled until ${instantText(settledPosition)}`)
    }
    return undefined
  },
})

const namespaces = apiCommand({
  name: 'namespaces',
  usage: '',
  summary: 'List the namespaces of the store.',
  options: {},
  help: [['', 'Needs a key for all namespaces.']],
  examples: ['carillon namespaces'],
  positionals: [0, 0],
  execute: async ({ api, print }) => {
    const answer = await api.call<{ namespaces: { namespace: string; kinds: number }[] }>(
      'GET',
      '/v1/namespaces',
    )
    for (const each of answer.namespaces) print(each, `${each.namespace}  ${each.kinds} kinds`)
    return undefined
  },
})

const events = apiCommand({
  name: 'events',
  usage: '[options]',
  summary: 'Watch events as they happen.',
  options: { type: stringOption, count: stringOption },
  help: [
    ['--type', 'only these types, comma-separated: fired,settled,dead'],
    ['--count', 'end after this many events (never)'],
    ['', 'Needs a server. Events that happen while nobody watches are in carillon history.'],
  ],
  examples: ['carillon events', 'carillon events --type dead --json'],
  positionals: [0, 0],
  execute: async ({ api, option, print }) => {
    const types = option('type')?.split(',')
    const most = integerOption('--count', option('count'), 1) ?? Infinity
    let seen = 0
    let type = ''
    for await (const line of api.stream('/v1/events')) {
      if (line.startsWith('event: ')) type = line.slice('event: '.length)
      if (!line.startsWith('data: ') || (types !== undefined && !types.includes(type))) continue
      const data = JSON.parse(line.slice('data: '.length)) as object
      print({ type, ...data }, `${type}  ${JSON.stringify(data)}`)
      if (++seen >= most) return undefined
    }
    return undefined
  },
})

interface AuditBody {
  readonly at: number
  readonly action: string
  readonly outcome: string
  readonly subject?: string
  readonly namespace?: string
  readonly details?: Readonly<Record<string, unknown>>
  readonly key: { readonly id: string; readonly name: string }
  readonly from: string
}

const audit = apiCommand({
  name: 'audit',
  usage: '[options]',
  summary: 'Show what operators changed: who, what, when and from where. Newest first.',
  options: {
    action: stringOption,
    by: stringOption,
    from: stringOption,
    until: stringOption,
    limit: stringOption,
  },
  help: [
    ['--action', 'only this action, such as keys.create'],
    ['--by', 'only what the key with this id did'],
    ['--from', 'only at or after this instant'],
    ['--until', 'only before this instant'],
    ['--limit', `the most to show (${DEFAULT_LIMIT})`],
  ],
  examples: ['carillon audit', 'carillon audit --action bulk.cancel --json'],
  positionals: [0, 0],
  execute: async ({ api, option, print }) => {
    const query = {
      action: option('action'),
      key: option('by'),
      from: option('from'),
      until: option('until'),
    }
    const most = integerOption('--limit', option('limit'), 1) ?? DEFAULT_LIMIT
    for await (const entry of api.pages<AuditBody>('/v1/audit', query, most)) print(entry, auditLine(entry))
    return undefined
  },
})

function auditLine({ at, action, outcome, subject, namespace, details, key, from }: AuditBody): string {
  const parts = [
    instantText(at),
    action,
    ...(subject === undefined ? [] : [JSON.stringify(subject)]),
    ...(details === undefined ? [] : [JSON.stringify(details)]),
    namespace === undefined ? 'all namespaces' : `namespace ${JSON.stringify(namespace)}`,
    `by ${key.id} (${key.name}) from ${from}`,
    ...(outcome === 'done' ? [] : [`outcome ${outcome}: it may have been done`]),
  ]
  return parts.join('  ')
}

/** Commands that only look. */
export const inspectCommands: readonly Command[] = [
  kinds,
  pauses,
  history,
  members,
  shards,
  namespaces,
  events,
  audit,
]
