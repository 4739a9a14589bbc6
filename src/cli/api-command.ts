import { existsSync } from 'node:fs'
import { InvalidInputError } from '../error/index.js'
import { Server } from '../server/index.js'
import { placeOf } from '../store/index.js'
import { Api, apiHelp, apiOptions } from './api.js'
import { type Arguments, type Command, exitCodes, type Terminal } from './command.js'

/** What a command that asks a server has to work with. */
export interface Asking {
  readonly api: Api
  readonly words: readonly string[]
  readonly terminal: Terminal
  readonly isJson: boolean
  /** An option that takes a text. */
  readonly text: (name: string) => string | undefined
  /** An option that is there or not. */
  readonly flag: (name: string) => boolean
  /** Says something to people, or to machines where they asked. */
  readonly say: (value: unknown, forPeople: string) => void
}

export interface ApiCommandParts extends Omit<Command, 'run'> {
  /** Answers the exit code, if it is not 0. */
  readonly ask: (asking: Asking) => Promise<number | undefined>
}

/** A command that asks a server. */
export function apiCommand({ ask, ...parts }: ApiCommandParts): Command {
  return {
    ...parts,
    options: { ...apiOptions, ...parts.options },
    help: [...parts.help, ...apiHelp],
    run: async (given, terminal) =>
      await withApi(given, terminal, async (api) => {
        return (await ask(askingOf(api, given, terminal))) ?? exitCodes.done
      }),
  }
}

/** Has the API of a server, or of a store that is opened for as long as it takes. */
async function withApi<Answer>(
  given: Arguments,
  terminal: Terminal,
  use: (api: Api) => Promise<Answer>,
): Promise<Answer> {
  const { store, url } = given.values
  if (typeof store !== 'string') return await use(new Api(given, terminal))
  if (url !== undefined) throw new InvalidInputError('invalid-option', 'give --url or --store, not both')
  checkThere(store)
  const server = await Server.open({ store })
  try {
    return await use(new Api(given, terminal, (path, init) => server.answer(path, init)))
  } finally {
    await server.stop()
  }
}

/** A misspelt folder is not to become a new store. */
function checkThere(store: string): void {
  if (/^memory:/i.test(store)) {
    throw new InvalidInputError('invalid-option', 'a memory store ends with its process: nobody can open it')
  }
  const place = placeOf(store)
  if (place.kind !== 'file' || existsSync(place.folder)) return
  throw new InvalidInputError(
    'invalid-store-url',
    `there is no folder ${place.folder}: carillon serve --store ${store} makes one`,
  )
}

function askingOf(api: Api, given: Arguments, terminal: Terminal): Asking {
  const isJson = given.values['json'] === true
  return {
    api,
    words: given.words,
    terminal,
    isJson,
    text: (name) => {
      const value = given.values[name]
      return typeof value === 'string' ? value : undefined
    },
    flag: (name) => given.values[name] === true,
    say: (value, forPeople) => terminal.out(`${isJson ? JSON.stringify(value) : forPeople}\n`),
  }
}

/** An instant for people. */
export function instantText(epochMs: number): string {
  return new Date(epochMs).toISOString()
}
