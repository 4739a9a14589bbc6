import { pathOf } from '../../api-client.js'
import { apiCommand, type CommandContext, instantText } from '../api-command.js'
import { type Command, exitCodes, flagOption, stringOption } from '../../command.js'
import { DEFAULT_LIMIT } from '../../defaults.js'
import { bulkHelp, bulkOptions, changeMany, filterHelp, filterOf, filterOptions, isBulk } from '../filter.js'
import { durationOption, integerOption, jsonOption } from '../options.js'

interface TimerBody {
  readonly kind: string
  readonly key: string
  readonly state: string
  readonly dueAt: number
  readonly revision: number
  readonly attempts: number
  /** Why it is overdue. */
  readonly causes?: readonly string[]
  readonly payload?: unknown
  readonly tags: readonly string[]
  readonly on?: unknown
}

const whenHelp = [
  ['--in', "due after a duration: '5m', '1h30m', 'PT5M'"],
  ['--at', "due at an instant: '2027-01-31T09:00:00Z' or epoch milliseconds"],
] as const
const ifRevisionHelp = ['--if-revision', 'only if the timer is at this revision'] as const

const set = apiCommand({
  name: 'set',
  usage: '<kind> [key] (--in … | --at … | --on …) [options]',
  summary: 'Set a timer. It replaces a timer with the same key.',
  options: {
    in: stringOption,
    at: stringOption,
    on: stringOption,
    payload: stringOption,
    tags: stringOption,
    'not-after': stringOption,
    'if-absent': flagOption,
    'if-revision': stringOption,
  },
  help: [
    ...whenHelp,
    ['--on', 'due on a schedule: a cron expression in UTC, or the JSON form of a schedule'],
    ['--payload', 'any JSON'],
    ['--tags', 'comma-separated'],
    ['--not-after', "start no later than an instant, or than a time after it is due: '10m'"],
    ['--if-absent', 'only if no timer has this key'],
    ifRevisionHelp,
  ],
  examples: [
    'carillon set remind order:7 --in 5m --payload \'{"orderId":"7"}\'',
    "carillon set report daily --on '0 9 * * *'",
  ],
  positionals: [1, 2],
  execute: async (context) => {
    const [kind = '', key] = context.positionals
    const on = context.option('on')
    const payload = context.option('payload')
    const tags = context.option('tags')
    const ifRevision = integerOption('--if-revision', context.option('if-revision'), 0)
    const body = {
      ...(key !== undefined && { key }),
      ...whenOf(context),
      ...(on !== undefined && { on: on.startsWith('{') ? jsonOption('--on', on) : on }),
      ...(payload !== undefined && { payload: jsonOption('--payload', payload) }),
      ...(tags !== undefined && { tags: tags.split(',') }),
      ...notAfterOf(context.option('not-after')),
      ...(context.flag('if-absent') && { ifAbsent: true }),
      ...(ifRevision !== undefined && { ifRevision }),
    }
    const answer = await context.api.call<TimerBody & { readonly outcome: string }>(
      'POST',
      `/v1/timers/${encodeURIComponent(kind)}`,
      body,
    )
    context.print(answer, `${answer.outcome} ${answer.kind} ${answer.key}, due ${instantText(answer.dueAt)}`)
    return undefined
  },
})

const get = apiCommand({
  name: 'get',
  usage: '<kind> <key>',
  summary: 'Show a timer.',
  options: {},
  help: [],
  examples: ['carillon get remind order:7'],
  positionals: [2, 2],
  execute: async (context) => {
    const timer = await context.api.call<TimerBody>(
      'GET',
      pathOf(context.positionals[0]!, context.positionals[1]!),
    )
    context.print(timer, lineOf(timer))
    return undefined
  },
})

const list = apiCommand({
  name: 'list',
  usage: '[options]',
  summary: 'List timers.',
  options: { ...filterOptions, limit: stringOption },
  help: [...filterHelp, ['--limit', `the most to list (${DEFAULT_LIMIT})`]],
  examples: ['carillon list --kind remind --limit 20', 'carillon list --tag vip --json'],
  positionals: [0, 0],
  execute: async (context) => {
    const most = integerOption('--limit', context.option('limit'), 1) ?? DEFAULT_LIMIT
    for await (const timer of context.api.pages<TimerBody>('/v1/timers', filterOf(context), most)) {
      context.print(timer, lineOf(timer))
    }
    return undefined
  },
})

const move = apiCommand({
  name: 'move',
  usage: '(<kind> <key> | <filter>) (--in … | --at …)',
  summary: 'Give a timer, or all that match a filter, another due time. They keep their payload.',
  options: { in: stringOption, at: stringOption, 'if-revision': stringOption, ...bulkOptions },
  help: [...whenHelp, ifRevisionHelp, ...bulkHelp],
  examples: ['carillon move remind order:7 --in 1h', 'carillon move --kind remind --tag vip --in 1h'],
  positionals: [0, 2],
  execute: (context) => {
    const when = whenOf(context)
    return isBulk(context)
      ? changeMany(context, 'move', '/v1/bulk/move', when)
      : change(context, 'POST', '/move', when)
  },
})

const cancel = apiCommand({
  name: 'cancel',
  usage: '<kind> <key> | <filter>',
  summary: 'Cancel a timer, or all that match a filter. No attempt starts afterwards.',
  options: { 'if-revision': stringOption, ...bulkOptions },
  help: [ifRevisionHelp, ...bulkHelp],
  examples: ['carillon cancel remind order:7', 'carillon cancel --kind remind --key-prefix order: --dry-run'],
  positionals: [0, 2],
  execute: (context) =>
    isBulk(context) ? changeMany(context, 'cancel', '/v1/bulk/cancel') : change(context, 'DELETE', ''),
})

const fire = apiCommand({
  name: 'fire',
  usage: '<kind> <key> | <filter>',
  summary: 'Fire a timer, or all that match a filter, now.',
  options: { 'if-revision': stringOption, ...bulkOptions },
  help: [ifRevisionHelp, ...bulkHelp],
  examples: ['carillon fire remind order:7', 'carillon fire --tag vip'],
  positionals: [0, 2],
  execute: (context) =>
    isBulk(context)
      ? changeMany(context, 'fire', '/v1/bulk/move', { in: 0 })
      : change(context, 'POST', '/fire', undefined, () => 'fired'),
})

const why = apiCommand({
  name: 'why',
  usage: '<kind> <key>',
  summary: 'Show what happened to a timer, as far as the history keeps it.',
  options: {},
  help: [],
  examples: ['carillon why remind order:7'],
  positionals: [2, 2],
  execute: async (context) => {
    const path = `${pathOf(context.positionals[0]!, context.positionals[1]!)}/why`
    const answer = await context.api.call<{ told: string[] }>('GET', path)
    if (answer.told.length > 0) {
      context.print(answer, answer.told.join('\n'))
      return undefined
    }
    const [kind, key] = context.positionals
    const text = `no timer ${kind} ${key} is known: it never existed, or it ended so long ago that the store has forgotten it`
    context.print(answer, text)
    return exitCodes.refused
  },
})

/** Commands for one timer, and the list of timers. */
export const timerCommands: readonly Command[] = [set, get, list, move, cancel, fire, why]

async function change(
  { api, positionals, option, print }: CommandContext,
  method: string,
  verb: string,
  body?: unknown,
  nameOf: (outcome: string) => string = (outcome) => outcome,
): Promise<undefined> {
  const revision = integerOption('--if-revision', option('if-revision'), 0)
  const headers = revision === undefined ? {} : { 'if-match': `"${revision}"` }
  const path = pathOf(positionals[0]!, positionals[1]!) + verb
  const outcome = nameOf((await api.call<{ outcome: string }>(method, path, body, headers)).outcome)
  print({ outcome }, outcome)
}

function whenOf(context: CommandContext): { in?: string | number; at?: string | number } {
  const delay = durationOption('--in', context.option('in'))
  const at = context.option('at')
  return {
    ...(delay !== undefined && { in: delay }),
    ...(at !== undefined && { at: /^\d+$/.test(at) ? Number(at) : at }),
  }
}

function lineOf({ kind, key, state, dueAt, revision, attempts, causes, payload }: TimerBody): string {
  const tried = attempts === 0 ? '' : `, ${attempts} attempts`
  const carried = payload === undefined ? '' : ` ${JSON.stringify(payload)}`
  const overdue =
    causes === undefined ? '' : `, overdue${causes.length === 0 ? '' : `: ${causes.join(', ')}`}`
  return `${instantText(dueAt)}  ${state}${overdue}  ${kind} ${key}  (revision ${revision}${tried})${carried}`
}

/** The latest start: an instant, or else a time after the due time. */
function notAfterOf(text: string | undefined): { readonly notAfter?: object } {
  if (text === undefined) return {}
  if (/^\d{10,16}$/.test(text)) return { notAfter: { at: Number(text) } }
  return { notAfter: /^\d{4}-/.test(text) ? { at: text } : { within: text } }
}
