/** Small tools for asynchronous code: waiting, limiting and repeating. They depend on the clock and nothing else. */
export { CallLimit, type OverListener } from './call-limit.js'
export { Deadlines } from './deadlines.js'
export { KeepAlive } from './keep-alive.js'
export { Mutex } from './mutex.js'
export { PeriodicTasks } from './periodic-tasks.js'
export { Semaphore } from './semaphore.js'
export { Sleeper } from './sleeper.js'
export { Turns } from './turns.js'
