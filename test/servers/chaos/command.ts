import type { Work } from './work.js'

/** What an instance may be asked to do, one line of JSON on its standard input. It answers with the number. */
export type Command = { readonly number: number } & (
  | {
      readonly do: 'set'
      readonly rows: readonly { readonly key: string; readonly at: number; readonly work: Work }[]
    }
  | { readonly do: 'cancel'; readonly keys: readonly string[] }
)

export type Asked = Command extends infer One ? (One extends unknown ? Omit<One, 'number'> : never) : never
