import { carillon } from '../../src/cli/index.js'

export interface Spoken {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs a command line in this process, with this environment and nothing else. */
export async function spoken(
  words: readonly string[],
  more: {
    readonly env?: Record<string, string>
    readonly input?: readonly string[]
    isScreen?: boolean
  } = {},
): Promise<Spoken> {
  let out = ''
  let err = ''
  const code = await carillon(words, {
    environment: more.env ?? {},
    isTerminal: false,
    isScreen: more.isScreen ?? false,
    out: (text) => (out += text),
    error: (text) => (err += text),
    lines: async function* () {
      yield* more.input ?? []
      await Promise.resolve()
    },
  })
  return { code, out, err }
}
