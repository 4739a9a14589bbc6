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
    run: async (given, terminal) => (await ask(askingOf(given, terminal))) ?? exitCodes.done,
  }
}

function askingOf(given: Arguments, terminal: Terminal): Asking {
  const isJson = given.values['json'] === true
  return {
    api: new Api(given, terminal),
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
