import { InvalidInputError } from '../../../error/index.js'
import { systemClock } from '../../../time/index.js'
import { pathOf, searchOf } from '../../api-client.js'
import { apiCommand, type CommandContext, instantText } from '../api-command.js'
import { type Command, exitCodes, flagOption, stringOption } from '../../command.js'
import { DEFAULT_LIMIT } from '../../defaults.js'
import { isConfirmed } from '../filter.js'
import { durationOption, integerOption, jsonOption } from '../options.js'

const pauseCommand = (verb: 'pause' | 'resume', summary: string): Command =>
  apiCommand({
    name: verb,
    usage: verb === 'pause' ? '[kind] [key] [options]' : '[kind] [key]',
    summary,
    options: verb === 'pause' ? { note: stringOption } : {},
    help: verb === 'pause' ? [['--note', 'why, for other operators to see']] : [],
    examples: [`carillon ${verb}`, `carillon ${verb} remind`, `carillon ${verb} remind order:7`],
    positionals: [0, 2],
    execute: async ({ api, positionals, option, print }) => {
      const [kind, key] = positionals
      const note = verb === 'pause' ? option('note') : undefined
      const body = note === undefined ? {} : { note }
      const answer =
        kind !== undefined && key !== undefined
          ? await api.call<{ outcome: string }>(
              'POST',
              `${pathOf(kind, key)}/${verb}`,
              verb === 'pause' ? body : undefined,
            )
          : await api.call<{ outcome: string }>('POST', `/v1/${verb}`, { ...body, kind })
      print(answer, answer.outcome)
      return undefined
    },
  })

const dead = apiCommand({
  name: 'dead',
  usage: '[options]',
  summary: 'List dead letters: timers that were given up.',
  options: { kind: stringOption, limit: stringOption },
  help: [
    ['--kind', 'only this kind'],
    ['--limit', `the most to list (${DEFAULT_LIMIT})`],
  ],
  examples: ['carillon dead --kind remind'],
  positionals: [0, 0],
  execute: async (context) => {
    interface Dead {
      readonly id: string
      readonly kind: string
      readonly key: string
      readonly diedAt: number
      readonly reason: string
    }
    const most = integerOption('--limit', context.option('limit'), 1) ?? DEFAULT_LIMIT
    for await (const letter of context.api.pages<Dead>('/v1/dead', { kind: context.option('kind') }, most)) {
      const { id, kind, key, diedAt, reason } = letter
      context.print(letter, `${id}  ${instantText(diedAt)}  ${kind} ${key}: ${reason}`)
    }
    return undefined
  },
})

const redrive = apiCommand({
  name: 'redrive',
  usage: '(<id>… | --kind … | --all)',
  summary: 'Set dead letters again, due now.',
  options: { kind: stringOption, all: flagOption },
  help: [
    ['--kind', 'all dead letters of this kind'],
    ['--all', 'all dead letters'],
  ],
  examples: ['carillon redrive 0-17', 'carillon redrive --kind remind'],
  positionals: [0, 1000],
  execute: async (context) => {
    const answer = await context.api.call<{ count: number; beside: unknown[] }>(
      'POST',
      '/v1/dead/redrive',
      redriveBody(context),
    )
    context.print(
      answer,
      `${answer.count} set again, ${answer.beside.length} of them under a new key because theirs is in use`,
    )
    return undefined
  },
})

const discard = apiCommand({
  name: 'discard',
  usage: '(<id>… | --kind … [--key …] | --all) [--yes]',
  summary: 'Delete dead letters for good.',
  options: { kind: stringOption, key: stringOption, all: flagOption, yes: flagOption },
  help: [
    ['--kind', 'all dead letters of this kind'],
    ['--key', 'only those of this key'],
    ['--all', 'all dead letters'],
    ['--yes', 'with --kind or --all: do not ask before'],
  ],
  examples: ['carillon discard 0-17', 'carillon discard --kind remind'],
  positionals: [0, 1000],
  execute: async (context) => {
    const { api, positionals, option, flag: isGiven, print } = context
    const [kind, key] = [option('kind'), option('key')]
    const ways = [positionals.length > 0, kind !== undefined, isGiven('all')].filter(Boolean).length
    if (ways !== 1 || (key !== undefined && kind === undefined))
      throw new InvalidInputError('invalid-option', 'pass ids, --kind or --all: exactly one of them')
    if (positionals.length > 0) {
      let count = 0
      for (const id of positionals)
        count += (await api.call<{ count: number }>('DELETE', `/v1/dead${searchOf({ id })}`)).count
      print({ count }, `${count} discarded`)
      return count < positionals.length ? exitCodes.refused : undefined
    }
    let found = 0
    for await (const _ of api.pages('/v1/dead', { kind, key }, Infinity)) found++
    if (found > 0 && !(await isConfirmed(context, `${found} dead letters match`, 'discard')))
      return exitCodes.failed
    const query = kind === undefined ? { all: 'true' } : { kind, key }
    const answer = await api.call<{ count: number }>('DELETE', `/v1/dead${searchOf(query)}`)
    print(answer, `${answer.count} discarded`)
    return undefined
  },
})

function redriveBody({ positionals, option, flag: isGiven }: CommandContext): object {
  const kind = option('kind')
  if (positionals.length > 0 && kind === undefined && !isGiven('all')) return { ids: positionals }
  if (positionals.length === 0 && kind !== undefined && !isGiven('all')) return { kind }
  if (positionals.length === 0 && kind === undefined && isGiven('all')) return { all: true }
  throw new InvalidInputError('invalid-option', 'pass ids, --kind or --all: exactly one of them')
}

const forecast = apiCommand({
  name: 'forecast',
  usage: '[options]',
  summary: 'Show how many timers are due in the coming time, slice by slice.',
  options: { kind: stringOption, over: stringOption, slice: stringOption },
  help: [
    ['--kind', 'only this kind'],
    ['--over', 'how far ahead (1h)'],
    ['--slice', 'the length of a slice (1m)'],
  ],
  examples: ['carillon forecast --over 1d --slice 1h'],
  positionals: [0, 0],
  execute: async (context) => {
    const query = {
      kind: context.option('kind'),
      over: durationOption('--over', context.option('over')),
      slice: durationOption('--slice', context.option('slice')),
    }
    const answer = await context.api.call<{ slices: { fromInclusive: number; count: number }[] }>(
      'GET',
      `/v1/forecast${searchOf(query)}`,
    )
    const most = Math.max(1, ...answer.slices.map(({ count }) => count))
    const lines = answer.slices.map(({ fromInclusive, count }) => {
      const bar = '#'.repeat(Math.ceil((count / most) * 50))
      return `${instantText(fromInclusive)}  ${String(count).padStart(String(most).length)}  ${bar}`.trimEnd()
    })
    context.print(answer, lines.join('\n'))
    return undefined
  },
})

interface Quota {
  readonly maxTimers?: number
  readonly maxBytes?: number
  readonly used?: { readonly timers: number; readonly bytes: number; readonly deadLetters?: number }
}

const quota = apiCommand({
  name: 'quota',
  usage: '[--max-timers …] [--max-bytes …] | --none',
  summary: 'Show or set the quota of a namespace.',
  options: { 'max-timers': stringOption, 'max-bytes': stringOption, none: flagOption },
  help: [
    ['--max-timers', 'the most timers (no limit)'],
    ['--max-bytes', 'the most bytes of payload (no limit)'],
    ['--none', 'remove the quota'],
  ],
  examples: ['carillon quota --namespace shop', 'carillon quota --namespace shop --max-timers 100000'],
  positionals: [0, 0],
  execute: async ({ api, option, flag: isGiven, print }) => {
    const maxTimers = integerOption('--max-timers', option('max-timers'), 0)
    const maxBytes = integerOption('--max-bytes', option('max-bytes'), 0)
    const isPut = maxTimers !== undefined || maxBytes !== undefined
    if (isPut && isGiven('none'))
      throw new InvalidInputError('invalid-option', 'pass limits or --none, not both')
    if (isGiven('none')) await api.call('DELETE', '/v1/quota')
    const body = {
      ...(maxTimers !== undefined && { maxTimers }),
      ...(maxBytes !== undefined && { maxBytes }),
    }
    const answer = await (isPut
      ? api.call<Quota>('PUT', '/v1/quota', body)
      : api.call<Quota>('GET', '/v1/quota'))
    print(answer, quotaText(answer))
    return undefined
  },
})

function quotaText({ maxTimers, maxBytes, used }: Quota): string {
  const parts = [
    ...(maxTimers === undefined ? [] : [`${used?.timers ?? '?'} of ${maxTimers} timers`]),
    ...(maxBytes === undefined ? [] : [`${used?.bytes ?? '?'} of ${maxBytes} bytes`]),
  ]
  if (parts.length === 0) return 'no quota'
  const deadLetters = used?.deadLetters ?? 0
  const note = deadLetters === 0 ? '' : `, ${deadLetters} of them dead letters (carillon discard)`
  return parts.join(', ') + note
}

/** Runs without a server. */
const next: Command = {
  name: 'next',
  usage: "'<cron or schedule as JSON>' [options]",
  summary: 'Show the next occurrences of a schedule, with the reason for every adjustment.',
  options: { zone: stringOption, count: stringOption, json: flagOption },
  help: [
    ['--zone', 'the time zone of a cron expression (UTC)'],
    ['--count', 'how many occurrences (5)'],
    ['--json', 'print JSON, one line for each occurrence'],
  ],
  examples: [
    "carillon next '0 9 * * MON' --zone Europe/Paris",
    'carillon next \'{"type":"daily","at":"09:00"}\'',
  ],
  positionals: [1, 1],
  run: async ({ positionals, values }, terminal) => {
    const { cron, parseSchedule } = await import('../../../schedule/index.js')
    const [given = ''] = positionals
    const { zone, count = '5', json } = values
    const most = integerOption('--count', String(count), 1, 1000)!
    const schedule = given.startsWith('{')
      ? parseSchedule({ version: 1, ...(jsonOption('a schedule', given) as object) })
      : cron(given, typeof zone === 'string' ? { zone } : {})
    if (json !== true) terminal.out(`${schedule.describe()}\n`)
    for (const occurrence of schedule.preview(most, { from: systemClock.now() })) {
      const { at, local, offset, reasons } = occurrence
      const because = reasons.length === 0 ? '' : `  (${reasons.join('; ')})`
      terminal.out(
        json === true
          ? `${JSON.stringify(occurrence)}\n`
          : `${instantText(at)}  ${local}${offset}${because}\n`,
      )
    }
    return exitCodes.done
  },
}

/** Commands that change or inspect many timers. */
export const adminCommands: readonly Command[] = [
  pauseCommand('pause', 'Pause everything, a kind or a timer. Timers that fall due wait.'),
  pauseCommand('resume', 'Resume everything, a kind or a timer.'),
  dead,
  redrive,
  discard,
  forecast,
  quota,
  next,
]
