import type { Work } from './work.js'

/** A command to an instance: one line of JSON on its standard input. The answer carries the same number. */
export type Command = { readonly number: number } & (
  | {
      readonly do: 'set'
      readonly rows: readonly { readonly key: string; readonly at: number; readonly work: Work }[]
    }
  | { readonly do: 'cancel'; readonly keys: readonly string[] }
  /** Reads timers of web processes. The answer is what it saw, as JSON. */
  | { readonly do: 'look'; readonly keys: readonly string[] }
)

export type Asked = Command extends infer One ? (One extends unknown ? Omit<One, 'number'> : never) : never
