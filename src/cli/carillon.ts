import { parseArgs } from 'node:util'
import { CarillonError, InvalidInputError } from '../error/index.js'
import { type Arguments, type Command, exitCodes, OutputClosedError, type Terminal } from './command.js'
import { ApiCallError } from './api-client.js'
import { completionOf } from './commands/completion-command.js'
import { doctor } from './commands/server/doctor-command.js'
import { keys } from './commands/operators/keys-command.js'
import { migrate } from './commands/server/migrate-command.js'
import { serve } from './commands/server/serve-command.js'
import { adminCommands } from './commands/operators/admin-commands.js'
import { inspectCommands } from './commands/operators/inspect-commands.js'
import { jobCommands } from './commands/operators/job-commands.js'
import { storeCommands } from './commands/server/store-commands.js'
import { targets } from './commands/operators/target-command.js'
import { timerCommands } from './commands/timers/timer-commands.js'
import { top } from './commands/operators/top-command.js'
import { transferCommands } from './commands/timers/transfer-commands.js'
import { viewCommands } from './commands/operators/view-commands.js'
import { verify } from './commands/server/verify-command.js'

const commands: readonly Command[] = [
  serve,
  ...timerCommands,
  ...adminCommands,
  targets,
  ...inspectCommands,
  ...viewCommands,
  ...jobCommands,
  ...storeCommands,
  verify,
  ...transferCommands,
  top,
  doctor,
  migrate,
  keys,
  completionOf(() => commands),
]

/** Runs a command line and returns the exit code. An error is printed in one line; with --json, as JSON. */
export async function carillon(words: readonly string[], terminal: Terminal): Promise<number> {
  try {
    return await run(words, terminal)
  } catch (error) {
    if (error instanceof OutputClosedError) return exitCodes.outputClosed
    if (!(error instanceof CarillonError)) throw error
    const { code, message } = error
    const isJson = words.includes('--json')
    terminal.error(
      isJson ? `${JSON.stringify({ code, detail: message })}\n` : `carillon: ${message} (${code})\n`,
    )
    if (error instanceof ApiCallError) return error.exitCode
    return error instanceof InvalidInputError ? exitCodes.usage : exitCodes.failed
  }
}

async function run(words: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = words
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    terminal.out(overview())
    return name === undefined ? exitCodes.usage : exitCodes.done
  }
  if (name === '--version' || name === '-v') {
    const { version } = await import('../server/index.js')
    terminal.out(`${version}\n`)
    return exitCodes.done
  }
  const command = commands.find((each) => each.name === name)
  if (command === undefined) throw usageError(`unknown command ${JSON.stringify(name)}; see carillon --help`)
  if (rest.includes('--help') || rest.includes('-h')) {
    terminal.out(helpOf(command))
    return exitCodes.done
  }
  return await command.run(readArguments(command, rest), terminal)
}

function readArguments(command: Command, rest: readonly string[]): Arguments {
  const { values, positionals } = parsed(command, rest)
  const [least, most] = command.positionals
  if (positionals.length >= least && positionals.length <= most) return { values, positionals }
  throw usageError(`usage: carillon ${command.name} ${command.usage}`)
}

function parsed(command: Command, rest: readonly string[]): Arguments {
  try {
    return parseArgs({
      args: [...rest],
      options: { ...command.options },
      allowPositionals: true,
      strict: true,
    })
  } catch (error) {
    const [first] = (error as Error).message.split('\n')
    throw usageError(`${first} See carillon ${command.name} --help`)
  }
}

function usageError(message: string): InvalidInputError {
  return new InvalidInputError('invalid-option', message)
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
    '  2: the command line or the configuration was not understood',
    '  3: no such timer, or the condition failed',
    '  4: the server cannot be reached, is no Carillon server, or refuses the key',
    '  141: the reader of the output has gone, as in carillon list | head',
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
