import { StateError } from '../error/index.js'
import type { WorkerTimers } from './work/worker-timers.js'

/** The timers of this thread. One thread is one worker, so there can be only one. */
let attached: WorkerTimers | undefined

/** Makes these the timers of this thread. The worker's entry calls it before it loads the module. */
export function provide(timers: WorkerTimers): void {
  attached = timers
}

/** The timers of the worker that this module is loaded in. */
export function attach(): WorkerTimers {
  if (attached !== undefined) return attached
  throw new StateError(
    'not-a-worker',
    "this thread is not a worker of a pool: call attach in the pool's module",
  )
}
