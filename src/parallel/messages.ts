import type { PoolMemory } from './memory/pool-memory.js'
import type { TaskPayload } from './memory/task-payload.js'

/** What a thread of the pool gets when it starts. */
export interface WorkerStart {
  readonly memory: PoolMemory
  readonly origin: bigint
  /** The number of the worker. */
  readonly owner: number
  readonly module: string
  readonly data: unknown
}

export interface MetronomeStart {
  readonly memory: PoolMemory
  readonly origin: bigint
}

/** To a worker. `orphans` are pairs of a record and its word: timers to adopt. */
export type ToWorker = { readonly orphans: Int32Array } | { readonly stop: true }

/** From a worker. */
export type FromWorker =
  | { readonly ready: readonly string[] }
  | { readonly refused: string }
  | { readonly failed: unknown; readonly task: number; readonly payload: TaskPayload }
