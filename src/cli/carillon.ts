import { parseArgs } from 'node:util'
import { CarillonError } from '../error/index.js'
import { version } from '../server/index.js'
import { type Arguments, type Command, exitCodes, type Terminal } from './command.js'
import { ApiError } from './api.js'
import { completionOf } from './completion-command.js'
import { doctor } from './doctor-command.js'
import { keys } from './keys-command.js'
import { migrate } from './migrate-command.js'
import { serve } from './serve.js'
import { steeringCommands } from './steering-commands.js'
import { timerCommands } from './timer-commands.js'
import { top } from './top-command.js'
import { transferCommands } from './transfer-commands.js'

const commands: readonly Command[] = [
  serve,
  ...timerCommands,
  ...steeringCommands,
  ...transferCommands,
  top,
  doctor,
  migrate,
  keys,
  completionOf(() => commands),
]

/** Runs a command line. Answers the exit code; what went wrong is said in one line. */
export async function carillon(words: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = words
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    terminal.out(overview())
    return name === undefined ? exitCodes.usage : exitCodes.done
  }
  if (name === '--version' || name === '-v') {
    terminal.out(`${version}\n`)
    return exitCodes.done
  }
  const command = commands.find((each) => each.name === name)
  if (command === undefined) {
    terminal.error(`carillon: there is no command ${JSON.stringify(name)}; see carillon --help\n`)
    return exitCodes.usage
  }
  if (rest.includes('--help') || rest.includes('-h')) {
    terminal.out(helpOf(command))
    return exitCodes.done
  }
  const given = readArguments(command, rest, terminal)
  if (given === undefined) return exitCodes.usage
  try {
    return await command.run(given, terminal)
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    terminal.error(`carillon: ${error.message} (${error.code})\n`)
    return error instanceof ApiError ? error.exitCode : exitCodes.failed
  }
}

function readArguments(command: Command, rest: readonly string[], terminal: Terminal): Arguments | undefined {
  try {
    const { values, positionals } = parseArgs({
      args: [...rest],
      options: { ...command.options },
      allowPositionals: true,
      strict: true,
    })
    const [least, most] = command.words
    if (positionals.length >= least && positionals.length <= most) {
      return { values, words: positionals }
    }
    terminal.error(`carillon: usage: carillon ${command.name} ${command.usage}\n`)
  } catch (error) {
    terminal.error(`carillon: ${(error as Error).message}\n`)
  }
  return undefined
}

function overview(): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  return [
    'carillon: durable timers',
    '',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    'carillon <command> --help says more. It ends with 0 when done, 1 when something failed, 2 when it was not',
    'understood, 3 when there is no such timer or it does not stand as was said, 4 when the server cannot be reached',
    'or does not let you in.',
    '',
  ].join('\n')
}

function helpOf({ name, usage, summary, help, examples }: Command): string {
  const width = Math.max(0, ...help.map(([option]) => option.length))
  return [
    `carillon ${name} ${usage}`,
    '',
    summary,
    '',
    ...help.map(([option, text]) => `  ${option.padEnd(width)}  ${text}`),
    '',
    'Examples:',
    ...examples.map((example) => `  ${example}`),
    '',
  ].join('\n')
}
