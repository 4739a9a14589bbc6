import type { TimerRow } from '../../timer/index.js'
import type { SentError } from './sent-error.js'

/** What a thread gets when it starts. */
export interface ThreadStart {
  readonly module: string
  /** One shared word: how many of the jobs that were sent here have begun. Jobs begin in the order in which they were sent. */
  readonly begun: Int32Array
}

/** One attempt, as it crosses to a thread. */
export interface JobMessage {
  /** Counts the jobs of the thread from 1. */
  readonly job: number
  readonly id: string
  readonly row: TimerRow
  readonly attempt: number
  readonly firedAt: number
  readonly traceparent?: string
  /** How far the clock of the engine is ahead of the machine's. */
  readonly aheadMs: number
  /** The payload, if a schema has made it. Otherwise the thread decodes that of the row. */
  readonly payload?: { readonly value: unknown }
}

/** To a thread. It answers a ping as soon as its event loop has a turn. */
export type ToThread =
  | { readonly run: JobMessage }
  | { readonly abort: number; readonly reason: SentError }
  | { readonly ping: number }

/** From a thread. */
export type FromThread =
  | { readonly type: 'ready' }
  | { readonly type: 'refused'; readonly error: SentError }
  | { readonly type: 'pong'; readonly ping: number }
  /** The handler has returned. `againAt` if it called `again`, `isEnd` if it called `end`. */
  | {
      readonly type: 'ended'
      readonly job: number
      readonly againAt: number | undefined
      readonly isEnd: boolean
    }
  | { readonly type: 'failed'; readonly job: number; readonly error: SentError }
