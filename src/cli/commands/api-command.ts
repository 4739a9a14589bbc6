import { existsSync } from 'node:fs'
import { InvalidInputError } from '../../error/index.js'
import { ApiClient, apiHelp, apiOptions } from '../api-client.js'
import { type Arguments, type Command, exitCodes, type Terminal } from '../command.js'
import { printable } from '../printable.js'
import { secretKeyOf } from '../secret-key.js'

/** What a command that calls a server works with. */
export interface CommandContext {
  readonly api: ApiClient
  readonly positionals: readonly string[]
  readonly terminal: Terminal
  readonly isJson: boolean
  /** The value of a string option. */
  readonly option: (name: string) => string | undefined
  /** Whether a flag is set. */
  readonly flag: (name: string) => boolean
  /** Prints `forPeople`, or `value` as JSON with --json. */
  readonly print: (value: unknown, forPeople: string) => void
}

export interface ApiCommandParts extends Omit<Command, 'run'> {
  /** Returns the exit code, or undefined for success. */
  readonly execute: (context: CommandContext) => Promise<number | undefined>
}

/** A command that calls a server. It gets the options that say which one. */
export function apiCommand({ execute, ...parts }: ApiCommandParts): Command {
  return {
    ...parts,
    options: { ...apiOptions, ...parts.options },
    help: [...parts.help, ...apiHelp],
    run: async (given, terminal) =>
      await withApi(given, terminal, async (api) => {
        return (await execute(contextOf(api, given, terminal))) ?? exitCodes.done
      }),
  }
}

/** Runs `use` with the API of a server, or with --store of a store that is open meanwhile. */
async function withApi<Answer>(
  given: Arguments,
  terminal: Terminal,
  use: (api: ApiClient) => Promise<Answer>,
): Promise<Answer> {
  const { store, url } = given.values
  if (typeof store !== 'string') return await use(new ApiClient(given, terminal))
  if (url !== undefined) throw new InvalidInputError('invalid-option', 'pass --url or --store, not both')
  await checkStoreExists(store)
  const { Server } = await import('../../server/index.js')
  const { to } = given.values
  const secretKey = await secretKeyOf(store, terminal.environment, false)
  const server = await Server.open({
    store,
    ...(typeof to === 'string' && { backupFolder: to }),
    ...(secretKey !== undefined && { secretKey }),
  })
  try {
    return await use(new ApiClient(given, terminal, (path, init) => server.answer(path, init)))
  } finally {
    await server.stop()
  }
}

/** Opening a file store creates its folder, so a misspelt path must be refused first. */
async function checkStoreExists(store: string): Promise<void> {
  if (/^memory:/i.test(store)) {
    throw new InvalidInputError('invalid-option', 'a memory store cannot be opened by another process')
  }
  const { parseStoreUrl } = await import('../../store/index.js')
  const location = parseStoreUrl(store)
  if (location.kind !== 'file' || existsSync(location.folder)) return
  throw new InvalidInputError(
    'invalid-store-url',
    `no folder ${location.folder}: carillon serve --store ${store} creates one`,
  )
}

function contextOf(api: ApiClient, given: Arguments, terminal: Terminal): CommandContext {
  const isJson = given.values['json'] === true
  return {
    api,
    positionals: given.positionals,
    terminal,
    isJson,
    option: (name) => {
      const value = given.values[name]
      return typeof value === 'string' ? value : undefined
    },
    flag: (name) => given.values[name] === true,
    print: (value, forPeople) => terminal.out(`${isJson ? JSON.stringify(value) : printable(forPeople)}\n`),
  }
}

export function instantText(epochMs: number): string {
  return new Date(epochMs).toISOString()
}
