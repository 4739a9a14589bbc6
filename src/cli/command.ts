/** Where a command gets its words from and where it writes. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly isTerminal: boolean
  /** Whether what is written to `out` is seen on a screen. */
  readonly isScreen: boolean
  out(text: string): void
  error(text: string): void
  /** Lines that are fed to it. */
  lines(): AsyncIterable<string>
}

export interface Arguments {
  readonly values: Readonly<Record<string, string | boolean | undefined>>
  readonly words: readonly string[]
}

/** A command of `carillon`. */
export interface Command {
  readonly name: string
  /** What comes after the name. */
  readonly usage: string
  readonly summary: string
  /** Its own options, as `parseArgs` takes them. */
  readonly options: Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>
  /** What each option says. */
  readonly help: readonly (readonly [option: string, text: string])[]
  readonly examples: readonly string[]
  /** How many words it takes. */
  readonly words: readonly [least: number, most: number]
  /** Answers the exit code. */
  readonly run: (given: Arguments, terminal: Terminal) => Promise<number>
}

/** What `carillon` ends with. */
export const exitCodes = Object.freeze({
  done: 0,
  /** Something failed; the message says what. */
  failed: 1,
  /** It was called in a way that cannot be understood. */
  usage: 2,
  /** There is no such timer, or it does not stand as was said. */
  refused: 3,
  /** The server cannot be reached, or does not let us in. */
  unreachable: 4,
})
