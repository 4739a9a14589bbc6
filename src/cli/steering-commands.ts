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

const verify = apiCommand({
  name: 'verify',
  usage: '',
  summary: 'Look at every row: created = pending + settled + cancelled + replaced + dead.',
  options: {},
  help: [],
  examples: ['carillon verify'],
  words: [0, 0],
  ask: async ({ api, say }) => {
    const answer = await api.call<{
      isWhole: boolean
      missing: number
      rows: number
      store: Record<string, number>
    }>('GET', '/v1/verify')
    const { created = 0, settled = 0, cancelled = 0, replaced = 0, dead: died = 0 } = answer.store
    const sum = `created ${created} = pending ${answer.rows} + settled ${settled} + cancelled ${cancelled} + replaced ${replaced} + dead ${died}`
    say(answer, answer.isWhole ? `whole: ${sum}` : `${answer.missing} missing: not ${sum}`)
    return answer.isWhole ? undefined : exitCodes.failed
  },
})

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
  next,
]
