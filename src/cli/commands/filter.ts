import { InvalidInputError } from '../../error/index.js'
import { exitCodes, flagOption, stringOption } from '../command.js'
import type { CommandContext } from './api-command.js'

/** The options that select timers, for `list` and for changes to many timers. */
export const filterOptions = Object.freeze({
  kind: stringOption,
  'key-prefix': stringOption,
  tag: stringOption,
  'due-from': stringOption,
  'due-until': stringOption,
})

export const filterHelp: readonly (readonly [string, string])[] = Object.freeze([
  ['--kind', 'only this kind'],
  ['--key-prefix', 'only keys with this prefix'],
  ['--tag', 'only with this tag'],
  ['--due-from', 'only due at or after this instant'],
  ['--due-until', 'only due before this instant'],
])

/** Besides the filter, for commands that change many timers. */
export const bulkOptions = Object.freeze({ ...filterOptions, yes: flagOption, 'dry-run': flagOption })

export const bulkHelp: readonly (readonly [string, string])[] = Object.freeze([
  ...filterHelp,
  ['--dry-run', 'with a filter: only count the timers'],
  ['--yes', 'with a filter: do not ask before the change'],
])

/** The filter that the options describe. */
export function filterOf({ option }: CommandContext): Readonly<Record<string, string | undefined>> {
  return {
    kind: option('kind'),
    keyPrefix: option('key-prefix'),
    tag: option('tag'),
    dueFrom: option('due-from'),
    dueUntil: option('due-until'),
  }
}

/** The same for a body, where instants are numbers or strings. */
export function filterBodyOf(context: CommandContext): Readonly<Record<string, string | number>> {
  return Object.fromEntries(
    Object.entries(filterOf(context))
      .filter((entry): entry is [string, string] => entry[1] !== undefined)
      .map(([name, text]) => [name, name.startsWith('due') && /^\d+$/.test(text) ? Number(text) : text]),
  )
}

/** Whether a command is for many timers. Throws if it is for one timer and for many, or for none. */
export function isBulk(context: CommandContext): boolean {
  const hasFilter = Object.values(filterOf(context)).some((value) => value !== undefined)
  const { length } = context.positionals
  const hasBulkOption = context.flag('yes') || context.flag('dry-run')
  const isOne = length === 2 && !hasFilter && !hasBulkOption
  const isMany = length === 0 && hasFilter && context.option('if-revision') === undefined
  if (isOne || isMany) return isMany
  throw new InvalidInputError(
    'invalid-option',
    'pass a kind and a key, or a filter: --kind, --key-prefix, --tag, --due-from or --due-until',
  )
}

type Counts = { readonly found: number } & Readonly<Record<string, number>>

/** Counts the timers of a filter, asks, and changes them. `verb` is the word in the question. */
export async function changeMany(
  context: CommandContext,
  verb: string,
  path: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<number | undefined> {
  const { api, print, flag } = context
  const filter = filterBodyOf(context)
  const counted = await api.call<Counts>('POST', path, { filter, ...more, dryRun: true })
  const timers = counted.found === 1 ? '1 timer' : `${counted.found} timers`
  if (flag('dry-run') || counted.found === 0) {
    print(counted, `${timers} match`)
    return undefined
  }
  if (!(await isConfirmed(context, `${timers} match`, verb))) return exitCodes.failed
  const done = await api.call<Counts>('POST', path, { filter, ...more })
  const outcomes = Object.entries(done).filter(([name]) => name !== 'found')
  print(
    done,
    outcomes.map(([outcome, count]) => `${count} ${outcome}`).join(', ') || 'nothing matches any more',
  )
  return undefined
}

/** Whether the change may be made: with --yes, or if a person says so. `what` says what would be changed. */
export async function isConfirmed(
  { flag, terminal }: CommandContext,
  what: string,
  verb: string,
): Promise<boolean> {
  if (flag('yes')) return true
  if (!terminal.isInteractive)
    throw new InvalidInputError('invalid-option', `${what}: pass --yes to ${verb} them`)
  terminal.error(`${what}. Really ${verb} them? [y/N] `)
  if (/^y(es)?$/i.test(await firstLine(terminal.lines()))) return true
  terminal.error('nothing was changed\n')
  return false
}

async function firstLine(lines: AsyncIterable<string>): Promise<string> {
  for await (const line of lines) return line.trim()
  return ''
}
