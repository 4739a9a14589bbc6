/**
 * What a web process writes: one line of JSON for each event, first to a file of its own, then to its parent. Times
 * are those of the machine's monotonic clock, which all processes of the machine share. Nothing moves that clock. So
 * lines of different processes can be compared, whatever their wall clocks show.
 */
export type WebLine =
  | { readonly say: 'ready' }
  /** Before a call that changes timers. */
  | {
      readonly say: 'asked'
      readonly call: number
      readonly op: WebOp
      readonly rows: readonly WebRow[]
      readonly at: number
    }
  /** After it. `answers` has one for each row: an outcome, or `failed` and the code of the error. */
  | {
      readonly say: 'answered'
      readonly call: number
      readonly answers: readonly string[]
      /** Of `cancel-many`: how many timers it found, and how many it cancelled. */
      readonly many?: { readonly found: number; readonly cancelled: number }
      readonly at: number
    }
  | ({ readonly say: 'read' } & WebRead)
  /** Asks another process to read these keys now. */
  | { readonly say: 'look'; readonly keys: readonly string[] }
  /** A count, by this process or for another one. It must be within these limits. */
  | ({ readonly say: 'counted' } & WebCount)
  /** An audit sends sets, or got them acknowledged. */
  | { readonly say: 'audited'; readonly sent: number; readonly acked: number }
  /** Asks another web process to count the timers of a namespace, while nothing in it changes. */
  | {
      readonly say: 'look-count'
      readonly namespace: string
      readonly count: number
      readonly turn: number
    }
  /** From now on it changes something there again. */
  | { readonly say: 'look-over'; readonly turn: number; readonly at: number }
  /** The script of all calls was run. `failed` are the calls that failed. */
  | { readonly say: 'exercised'; readonly calls: number; readonly failed: readonly string[] }
  /** Only for the reader of the log: a call failed, and what its error said. */
  | { readonly say: 'trouble'; readonly what: string; readonly text: string; readonly at: number }
  /** Nothing is left to do. */
  | { readonly say: 'idle' }

export type WebOp =
  | 'set'
  | 'replace'
  | 'set-if-absent'
  | 'set-if-revision'
  | 'set-if-wrong-revision'
  | 'move'
  | 'cancel'
  | 'cancel-many'

/** A change of one timer. Every `set` has a version of its own, which is the payload. */
export interface WebRow {
  readonly key: string
  readonly version: number
  readonly dueAt: number
}

/** One read of one or more keys, in any process. Keys that are not in `seen` were absent. */
export interface WebRead {
  readonly how: 'get' | 'list'
  readonly keys: readonly string[]
  readonly seen: readonly WebRow[]
  readonly from: number
  readonly at: number
  /** The code of the error, if it failed. */
  readonly failed?: string
}

export interface WebCount {
  readonly how: 'forecast' | 'list' | 'stats' | 'quota' | 'cancel-many'
  /** If another process asked for it: the number of its question. */
  readonly turn?: number
  readonly namespace: string
  readonly least: number
  readonly most: number
  readonly seen: number
  readonly from: number
  readonly at: number
  readonly failed?: string
}

/** What its parent asks a web process for, one line of JSON each. */
export type WebCommand =
  | { readonly do: 'look'; readonly keys: readonly string[] }
  | { readonly do: 'count'; readonly namespace: string; readonly count: number; readonly turn: number }
  | { readonly do: 'counted'; readonly turn: number }
  | { readonly do: 'exercise' }
  | { readonly do: 'drain' }
  | { readonly do: 'stop' }

/** The payload of the timers of web processes. */
export interface WebPayload {
  readonly v: number
  readonly waitMs?: number
}

/** What a web process is given when it starts. */
export interface WebTask {
  readonly name: string
  readonly url: string
  readonly seed: number
  /** The file of its ledger. */
  readonly file: string
  /** How many stories it plays at once. */
  readonly stories: number
  readonly engine: object
  /** The machine's monotonic clock plus this is the right wall time. */
  readonly epochMs: number
  /** The longest time of a handler. */
  readonly longestMs: number
}

/** The kind of the timers that fire, and the kind of those that are only counted. */
export const WEB_KIND = 'web'
export const COUNTED_KIND = 'counted'
