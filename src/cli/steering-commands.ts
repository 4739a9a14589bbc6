import { InvalidInputError } from '../error/index.js'
import { cron, parseSchedule } from '../schedule/index.js'
import { systemClock } from '../time/index.js'
import { pathOf, searchOf } from './api.js'
import { apiCommand, type Asking, instantText } from './api-command.js'
import { type Command, exitCodes } from './command.js'
import { jsonOf } from './timer-commands.js'

const text = { type: 'string' as const }
const flag = { type: 'boolean' as const }

const pausing = (verb: 'pause' | 'resume', summary: string): Command =>
  apiCommand({
    name: verb,
    usage: '[kind] [key]',
    summary,
    options: {},
    help: [],
    examples: [`carillon ${verb}`, `carillon ${verb} remind`, `carillon ${verb} remind order:7`],
    words: [0, 2],
    ask: async ({ api, words, say }) => {
      const [kind, key] = words
      const answer =
        kind !== undefined && key !== undefined
          ? await api.call<{ outcome: string }>('POST', `${pathOf(kind, key)}/${verb}`)
          : await api.call<{ outcome: string }>('POST', `/v1/${verb}`, kind === undefined ? {} : { kind })
      say(answer, answer.outcome)
      return undefined
    },
  })

const dead = apiCommand({
  name: 'dead',
  usage: '[options]',
  summary: 'List timers that were given up.',
  options: { kind: text, limit: text },
  help: [
    ['--kind', 'only of this kind'],
    ['--limit', 'at most so many (100)'],
  ],
  examples: ['carillon dead --kind remind'],
  words: [0, 0],
  ask: async (asking) => {
    interface Dead {
      readonly id: string
      readonly kind: string
      readonly key: string
      readonly diedAt: number
      readonly reason: string
    }
    const most = Number(asking.text('limit') ?? 100)
    for await (const letter of asking.api.pages<Dead>('/v1/dead', { kind: asking.text('kind') }, most)) {
      const { id, kind, key, diedAt, reason } = letter
      asking.say(letter, `${id}  ${instantText(diedAt)}  ${kind} ${key}: ${reason}`)
    }
    return undefined
  },
})

const redrive = apiCommand({
  name: 'redrive',
  usage: '(<id>… | --kind … | --all)',
  summary: 'Set dead letters again, due now.',
  options: { kind: text, all: flag },
  help: [
    ['--kind', 'all of this kind'],
    ['--all', 'all there are'],
  ],
  examples: ['carillon redrive 0-17', 'carillon redrive --kind remind'],
  words: [0, 1000],
  ask: async (asking) => {
    const answer = await asking.api.call<{ count: number; beside: unknown[] }>(
      'POST',
      '/v1/dead/redrive',
      whichDead(asking),
    )
    asking.say(
      answer,
      `${answer.count} set again, ${answer.beside.length} of them beside a timer of their key`,
    )
    return undefined
  },
})

function whichDead({ words, text: option, flag: isGiven }: Asking): object {
  const kind = option('kind')
  if (words.length > 0 && kind === undefined && !isGiven('all')) return { ids: words }
  if (words.length === 0 && kind !== undefined && !isGiven('all')) return { kind }
  if (words.length === 0 && kind === undefined && isGiven('all')) return { all: true }
  throw new InvalidInputError('invalid-option', 'name ids, or a --kind, or --all: exactly one of them')
}

const forecast = apiCommand({
  name: 'forecast',
  usage: '[options]',
  summary: 'Show how many timers are due, slice by slice.',
  options: { kind: text, over: text, slice: text },
  help: [
    ['--kind', 'only of this kind'],
    ['--over', 'how far (1h)'],
    ['--slice', 'in slices of which length (1m)'],
  ],
  examples: ['carillon forecast --over 1d --slice 1h'],
  words: [0, 0],
  ask: async (asking) => {
    const query = { kind: asking.text('kind'), over: asking.text('over'), slice: asking.text('slice') }
    const answer = await asking.api.call<{ slices: { fromInclusive: number; count: number }[] }>(
      'GET',
      `/v1/forecast${searchOf(query)}`,
    )
    const most = Math.max(1, ...answer.slices.map(({ count }) => count))
    const lines = answer.slices.map(({ fromInclusive, count }) => {
      const bar = '#'.repeat(Math.ceil((count / most) * 50))
      return `${instantText(fromInclusive)}  ${String(count).padStart(String(most).length)}  ${bar}`.trimEnd()
    })
    asking.say(answer, lines.join('\n'))
    return undefined
  },
})

interface Verified {
  readonly isWhole: boolean
  readonly missing: number
  readonly surplus: number
  readonly rows: number
  readonly store: Readonly<Record<string, number>>
  readonly broken: readonly {
    readonly shard?: number
    readonly missing: number
    readonly rows: number
    readonly counts: Readonly<Record<string, number>>
  }[]
}

const verify = apiCommand({
  name: 'verify',
  usage: '',
  summary: 'Look at every row, shard by shard: created = pending + settled + cancelled + replaced + dead.',
  options: {},
  help: [['', 'It ends with 1 when rows are missing, or are there that no counter knows of.']],
  examples: ['carillon verify'],
  words: [0, 0],
  ask: async ({ api, say }) => {
    const answer = await api.call<Verified>('GET', '/v1/verify')
    say(answer, verifiedLines(answer).join('\n'))
    return answer.isWhole ? undefined : exitCodes.failed
  },
})

function verifiedLines({ isWhole, missing, surplus, rows, store, broken }: Verified): string[] {
  if (isWhole) return [`whole: ${sumText(rows, store)}`]
  return [
    `not whole: ${missing} missing, ${surplus} too many`,
    ...broken.map(({ shard, missing: lost, ...of }) => {
      const where = shard === undefined ? 'store' : `shard ${shard}`
      const what = lost > 0 ? `${lost} missing` : `${-lost} too many`
      return `  ${where}: ${what}: not ${sumText(of.rows, of.counts)}`
    }),
  ]
}

function sumText(rows: number, counts: Readonly<Record<string, number>>): string {
  const { created, settled, cancelled, replaced, dead: died } = counts
  return `created ${created} = pending ${rows} + settled ${settled} + cancelled ${cancelled} + replaced ${replaced} + dead ${died}`
}

interface Quota {
  readonly maxTimers?: number
  readonly maxBytes?: number
  readonly used?: { readonly timers: number; readonly bytes: number }
}

const quota = apiCommand({
  name: 'quota',
  usage: '[--max-timers …] [--max-bytes …] | --none',
  summary: 'Show or say what a namespace may hold.',
  options: { 'max-timers': text, 'max-bytes': text, none: flag },
  help: [
    ['--max-timers', 'at most so many timers; what is not given is not limited'],
    ['--max-bytes', 'at most so many bytes of payloads'],
    ['--none', 'no limit any more'],
  ],
  examples: ['carillon quota --namespace shop', 'carillon quota --namespace shop --max-timers 100000'],
  words: [0, 0],
  ask: async ({ api, text: option, flag: isGiven, say }) => {
    const [timers, bytes] = [option('max-timers'), option('max-bytes')]
    const isPut = timers !== undefined || bytes !== undefined
    if (isPut && isGiven('none')) throw new InvalidInputError('invalid-option', 'give limits, or --none')
    if (isGiven('none')) await api.call('DELETE', '/v1/quota')
    const body = {
      ...(timers !== undefined && { maxTimers: Number(timers) }),
      ...(bytes !== undefined && { maxBytes: Number(bytes) }),
    }
    const answer = await (isPut
      ? api.call<Quota>('PUT', '/v1/quota', body)
      : api.call<Quota>('GET', '/v1/quota'))
    say(answer, quotaText(answer))
    return undefined
  },
})

function quotaText({ maxTimers, maxBytes, used }: Quota): string {
  const parts = [
    ...(maxTimers === undefined ? [] : [`${used?.timers ?? '?'} of ${maxTimers} timers`]),
    ...(maxBytes === undefined ? [] : [`${used?.bytes ?? '?'} of ${maxBytes} bytes`]),
  ]
  return parts.length === 0 ? 'no quota' : parts.join(', ')
}

/** Needs no server. */
const next: Command = {
  name: 'next',
  usage: "'<cron or schedule as JSON>' [options]",
  summary: 'Show the next occurrences of a schedule, with the reason for every adjustment.',
  options: { zone: text, count: text, json: flag },
  help: [
    ['--zone', 'the zone of a cron expression (UTC)'],
    ['--count', 'how many (5)'],
    ['--json', 'answer in JSON, a line for each occurrence'],
  ],
  examples: [
    "carillon next '0 9 * * MON' --zone Europe/Paris",
    'carillon next \'{"type":"daily","at":"09:00"}\'',
  ],
  words: [1, 1],
  run: ({ words, values }, terminal) => {
    const [given = ''] = words
    const { zone, count = '5', json } = values
    const schedule = given.startsWith('{')
      ? parseSchedule({ version: 1, ...(jsonOf('a schedule', given) as object) })
      : cron(given, typeof zone === 'string' ? { zone } : {})
    if (json !== true) terminal.out(`${schedule.describe()}\n`)
    for (const occurrence of schedule.preview(Number(count), { from: systemClock.now() })) {
      const { at, local, offset, reasons } = occurrence
      const because = reasons.length === 0 ? '' : `  (${reasons.join('; ')})`
      terminal.out(
        json === true
          ? `${JSON.stringify(occurrence)}\n`
          : `${instantText(at)}  ${local}${offset}${because}\n`,
      )
    }
    return Promise.resolve(exitCodes.done)
  },
}

/** What is done to many timers, and what is asked about them. */
export const steeringCommands: readonly Command[] = [
  pausing('pause', 'Pause everything, a kind or a timer. What falls due meanwhile waits.'),
  pausing('resume', 'End a pause.'),
  dead,
  redrive,
  forecast,
  verify,
  quota,
  next,
]
