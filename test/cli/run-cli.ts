import { carillon } from '../../src/cli/index.js'

export interface CliResult {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs a command line in this process, with only this environment. */
export async function runCli(
  words: readonly string[],
  more: {
    readonly env?: Record<string, string>
    readonly input?: readonly string[]
    isScreen?: boolean
    isInteractive?: boolean
  } = {},
): Promise<CliResult> {
  let out = ''
  let err = ''
  const code = await carillon(words, {
    environment: more.env ?? {},
    isTerminal: false,
    isScreen: more.isScreen ?? false,
    isInteractive: more.isInteractive ?? false,
    out: (text) => (out += text),
    error: (text) => (err += text),
    lines: async function* () {
      yield* more.input ?? []
      await Promise.resolve()
    },
  })
  return { code, out, err }
}
