/** The environment of a command: its variables, its input and its outputs. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Whether standard error is a terminal. */
  readonly isTerminal: boolean
  /** Whether standard output is a terminal. */
  readonly isScreen: boolean
  /** Whether standard input is a terminal, so that somebody can answer a question. */
  readonly isInteractive: boolean
  /** Throws an `OutputClosedError` once the reader of standard output has gone. */
  out(text: string): void
  /** Never throws: a server goes on when nobody reads its log. */
  error(text: string): void
  /** The lines of standard input. */
  lines(): AsyncIterable<string>
}

/** The two types of options, as `parseArgs` takes them. */
export const stringOption = { type: 'string' as const }
export const flagOption = { type: 'boolean' as const }

export interface Arguments {
  readonly values: Readonly<Record<string, string | boolean | undefined>>
  readonly positionals: readonly string[]
}

/** A command of `carillon`. */
export interface Command {
  readonly name: string
  /** The arguments after the name, for the help. */
  readonly usage: string
  readonly summary: string
  /** Its own options, as `parseArgs` takes them. */
  readonly options: Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>
  /** The help for each option. An empty option name makes a note. */
  readonly help: readonly (readonly [option: string, text: string])[]
  readonly examples: readonly string[]
  /** How many positional arguments it takes. */
  readonly positionals: readonly [least: number, most: number]
  /** Returns the exit code. */
  readonly run: (given: Arguments, terminal: Terminal) => Promise<number>
}

/** The reader of standard output has gone, as in `carillon list | head`. The command ends quietly. */
export class OutputClosedError extends Error {}

export const exitCodes = Object.freeze({
  done: 0,
  /** Something failed or was refused. The message says what. */
  failed: 1,
  /** The command line was not understood. */
  usage: 2,
  /** No such timer, or the condition failed. */
  refused: 3,
  /** The server cannot be reached, or refuses the key. */
  unreachable: 4,
  /** The reader of the output has gone: 128 + SIGPIPE, as with other programs. */
  outputClosed: 141,
})
