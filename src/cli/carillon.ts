import { parseArgs } from 'node:util'
import { CarillonError } from '../error/index.js'
import { version } from '../server/index.js'
import { type Arguments, type Command, exitCodes, type Terminal } from './command.js'
import { ApiCallError } from './api-client.js'
import { completionOf } from './commands/completion-command.js'
import { doctor } from './commands/doctor-command.js'
import { keys } from './commands/keys-command.js'
import { migrate } from './commands/migrate-command.js'
import { serve } from './commands/serve-command.js'
import { adminCommands } from './commands/admin-commands.js'
import { timerCommands } from './commands/timer-commands.js'
import { top } from './commands/top-command.js'
import { transferCommands } from './commands/transfer-commands.js'

const commands: readonly Command[] = [
  serve,
  ...timerCommands,
  ...adminCommands,
  ...transferCommands,
  top,
  doctor,
  migrate,
  keys,
  completionOf(() => commands),
]

/** Runs a command line and returns the exit code. An error is printed in one line. */
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
    terminal.error(`carillon: unknown command ${JSON.stringify(name)}; see carillon --help\n`)
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
    return error instanceof ApiCallError ? error.exitCode : exitCodes.failed
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
    const [least, most] = command.positionals
    if (positionals.length >= least && positionals.length <= most) {
      return { values, positionals: positionals }
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
    'carillon <command> --help shows the options and examples of a command.',
    '',
    'Exit codes:',
    '  0: success',
    '  1: something failed or was refused',
    '  2: the command line was not understood',
    '  3: no such timer, or the condition failed',
    '  4: the server cannot be reached, or refuses the key',
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
