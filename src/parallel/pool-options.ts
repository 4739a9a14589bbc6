import { pathToFileURL } from 'node:url'
import { checkFunction, checkInteger, checkOptions, InvalidInputError, shown } from '../error/index.js'
import { MAX_PAYLOAD_BYTES, poolDefaults } from './defaults.js'
import { owners } from './memory/pool-memory.js'
import type { TaskPayload } from './memory/task-payload.js'
import { MAX_TIMERS } from './memory/timer-handle.js'

/** The options of a `TimerPool`. */
export interface TimerPoolOptions {
  /** The module whose exported functions are the tasks: a file URL or a path. Each worker loads it. */
  readonly module: URL | string
  /** How many worker threads, 1 to 1,024. */
  readonly workers: number
  /** The most timers at once, up to 16,777,216. Default 1,048,576. Memory is used as timers are. */
  readonly maxTimers?: number
  /** The most bytes of UTF-8 of a payload that is a string, up to 1,024. Default 0: payloads are numbers. */
  readonly payloadBytes?: number
  /** Passed to every worker, as `attach().data`. It is cloned, except for shared memory. */
  readonly data?: unknown
  /** The size of a worker's heap in MB, from 8. A worker that needs more ends, and is replaced. Default: Node's own. */
  readonly maxHeapMb?: number
  /**
   * Gets the errors of tasks, and a `task-interrupted` for each task that was running when its worker died. By default
   * they are printed with `console.error`.
   */
  readonly onError?: OnTaskError
}

/** A listener for errors of tasks. */
export type OnTaskError = (error: unknown, task: string, payload: TaskPayload) => void

export interface CheckedOptions {
  readonly module: string
  readonly workers: number
  readonly maxTimers: number
  readonly payloadBytes: number
  readonly data: unknown
  readonly maxHeapMb: number | undefined
  readonly onError: OnTaskError
}

// Node.js itself needs about this much in a worker.
const LEAST_HEAP_MB = 8

const known = ['module', 'workers', 'maxTimers', 'payloadBytes', 'data', 'maxHeapMb', 'onError']

export function checkPoolOptions(options: TimerPoolOptions): CheckedOptions {
  checkOptions('TimerPool.start', options, known)
  const { module, workers, data, maxHeapMb } = options
  const {
    maxTimers = poolDefaults.maxTimers,
    payloadBytes = poolDefaults.payloadBytes,
    onError = print,
  } = options
  checkInteger('workers', workers, 1, owners.MAX_WORKERS)
  checkInteger('maxTimers', maxTimers, 1, MAX_TIMERS)
  checkInteger('payloadBytes', payloadBytes, 0, MAX_PAYLOAD_BYTES)
  if (maxHeapMb !== undefined) checkInteger('maxHeapMb', maxHeapMb, LEAST_HEAP_MB)
  checkFunction('onError', onError)
  return { module: moduleUrl(module), workers, maxTimers, payloadBytes, data, maxHeapMb, onError }
}

function moduleUrl(module: unknown): string {
  if (module instanceof URL) return module.href
  if (typeof module === 'string' && module !== '') {
    return module.startsWith('file:') ? module : pathToFileURL(module).href
  }
  throw new InvalidInputError(
    'invalid-option',
    `module must be a file URL or a path, such as new URL('./tasks.js', import.meta.url), got ${shown(module)}`,
  )
}

function print(error: unknown, task: string): void {
  console.error(`carillon: the task ${task} failed:`, error)
}
