import { InvalidInputError, shown } from '../error/index.js'
import { pathOf } from './api.js'
import { apiCommand, type Asking, instantText } from './api-command.js'
import type { Command } from './command.js'

interface TimerBody {
  readonly kind: string
  readonly key: string
  readonly state: string
  readonly dueAt: number
  readonly revision: number
  readonly attempts: number
  readonly payload?: unknown
  readonly tags: readonly string[]
  readonly on?: unknown
}

const text = { type: 'string' as const }
const flag = { type: 'boolean' as const }
const whenHelp = [
  ['--in', "after a while: '5m', '1h30m', 'PT5M'"],
  ['--at', "at an instant: '2027-01-31T09:00:00Z' or epoch milliseconds"],
] as const
const ifRevision = ['--if-revision', 'only if the timer stands at this revision'] as const

const set = apiCommand({
  name: 'set',
  usage: '<kind> [key] (--in … | --at … | --on …) [options]',
  summary: 'Set a timer; one of the same key is replaced.',
  options: {
    in: text,
    at: text,
    on: text,
    payload: text,
    tags: text,
    'if-absent': flag,
    'if-revision': text,
  },
  help: [
    ...whenHelp,
    ['--on', 'on a schedule: a cron expression in UTC, or the JSON form of a schedule'],
    ['--payload', 'any JSON'],
    ['--tags', 'comma-separated'],
    ['--if-absent', 'only if no timer has this key'],
    ifRevision,
  ],
  examples: [
    'carillon set remind order:7 --in 5m --payload \'{"orderId":"7"}\'',
    "carillon set report daily --on '0 9 * * *'",
  ],
  words: [1, 2],
  ask: async (asking) => {
    const [kind = '', key] = asking.words
    const on = asking.text('on')
    const payload = asking.text('payload')
    const tags = asking.text('tags')
    const body = {
      ...(key !== undefined && { key }),
      ...whenOf(asking),
      ...(on !== undefined && { on: on.startsWith('{') ? jsonOf('--on', on) : on }),
      ...(payload !== undefined && { payload: jsonOf('--payload', payload) }),
      ...(tags !== undefined && { tags: tags.split(',') }),
      ...(asking.flag('if-absent') && { ifAbsent: true }),
      ...(asking.text('if-revision') !== undefined && { ifRevision: Number(asking.text('if-revision')) }),
    }
    const answer = await asking.api.call<TimerBody>('POST', `/v1/timers/${encodeURIComponent(kind)}`, body)
    asking.say(answer, `set ${answer.kind} ${answer.key}, due ${instantText(answer.dueAt)}`)
    return undefined
  },
})

const get = apiCommand({
  name: 'get',
  usage: '<kind> <key>',
  summary: 'Show a timer as it stands.',
  options: {},
  help: [],
  examples: ['carillon get remind order:7'],
  words: [2, 2],
  ask: async (asking) => {
    const timer = await asking.api.call<TimerBody>('GET', pathOf(asking.words[0]!, asking.words[1]!))
    asking.say(timer, lineOf(timer))
    return undefined
  },
})

const list = apiCommand({
  name: 'list',
  usage: '[options]',
  summary: 'List timers.',
  options: { kind: text, 'key-prefix': text, tag: text, 'due-from': text, 'due-until': text, limit: text },
  help: [
    ['--kind', 'only of this kind'],
    ['--key-prefix', 'only keys that begin so'],
    ['--tag', 'only with this tag'],
    ['--due-from', 'due at or after'],
    ['--due-until', 'due before'],
    ['--limit', 'at most so many (100)'],
  ],
  examples: ['carillon list --kind remind --limit 20', 'carillon list --tag vip --json'],
  words: [0, 0],
  ask: async (asking) => {
    const query = {
      kind: asking.text('kind'),
      keyPrefix: asking.text('key-prefix'),
      tag: asking.text('tag'),
      dueFrom: asking.text('due-from'),
      dueUntil: asking.text('due-until'),
    }
    const most = Number(asking.text('limit') ?? 100)
    for await (const timer of asking.api.pages<TimerBody>('/v1/timers', query, most)) {
      asking.say(timer, lineOf(timer))
    }
    return undefined
  },
})

const move = apiCommand({
  name: 'move',
  usage: '<kind> <key> (--in … | --at …)',
  summary: 'Give a timer another due time; its payload stays.',
  options: { in: text, at: text, 'if-revision': text },
  help: [...whenHelp, ifRevision],
  examples: ['carillon move remind order:7 --in 1h'],
  words: [2, 2],
  ask: (asking) => change(asking, 'POST', '/move', whenOf(asking)),
})

const cancel = apiCommand({
  name: 'cancel',
  usage: '<kind> <key>',
  summary: 'Cancel a timer: no attempt starts afterwards.',
  options: { 'if-revision': text },
  help: [ifRevision],
  examples: ['carillon cancel remind order:7'],
  words: [2, 2],
  ask: (asking) => change(asking, 'DELETE', ''),
})

const fire = apiCommand({
  name: 'fire',
  usage: '<kind> <key>',
  summary: 'Fire a timer now, whenever it was due.',
  options: { 'if-revision': text },
  help: [ifRevision],
  examples: ['carillon fire remind order:7'],
  words: [2, 2],
  ask: (asking) => change(asking, 'POST', '/fire'),
})

const why = apiCommand({
  name: 'why',
  usage: '<kind> <key>',
  summary: "Tell a timer's life, as far as the history was told.",
  options: {},
  help: [],
  examples: ['carillon why remind order:7'],
  words: [2, 2],
  ask: async (asking) => {
    const path = `${pathOf(asking.words[0]!, asking.words[1]!)}/why`
    const answer = await asking.api.call<{ told: string[] }>('GET', path)
    asking.say(answer, answer.told.length === 0 ? 'nothing is known' : answer.told.join('\n'))
    return undefined
  },
})

/** What is done to one timer. */
export const timerCommands: readonly Command[] = [set, get, list, move, cancel, fire, why]

async function change(
  { api, words, text: option, say }: Asking,
  method: string,
  verb: string,
  body?: unknown,
): Promise<undefined> {
  const revision = option('if-revision')
  const headers = revision === undefined ? {} : { 'if-match': `"${revision}"` }
  const path = pathOf(words[0]!, words[1]!) + verb
  const answer = await api.call<{ outcome: string }>(method, path, body, headers)
  say(answer, answer.outcome)
}

function whenOf(asking: Asking): { in?: string; at?: string | number } {
  const delay = asking.text('in')
  const at = asking.text('at')
  return {
    ...(delay !== undefined && { in: delay }),
    ...(at !== undefined && { at: /^\d+$/.test(at) ? Number(at) : at }),
  }
}

export function jsonOf(what: string, given: string): unknown {
  try {
    return JSON.parse(given)
  } catch {
    throw new InvalidInputError('invalid-option', `${what} takes JSON, got ${shown(given)}`)
  }
}

function lineOf({ kind, key, state, dueAt, revision, attempts, payload }: TimerBody): string {
  const tried = attempts === 0 ? '' : `, ${attempts} attempts`
  const carried = payload === undefined ? '' : ` ${JSON.stringify(payload)}`
  return `${instantText(dueAt)}  ${state}  ${kind} ${key}  (revision ${revision}${tried})${carried}`
}
