import process from 'node:process'
import { parentPort, workerData } from 'node:worker_threads'
import { ThreadClock } from '../time/index.js'
import { provide } from './attach.js'
import { Executor } from './work/executor.js'
import type { FromWorker, ToWorker, WorkerStart } from './messages.js'
import { type Task, TaskNames, tasksOf } from './work/task-names.js'
import { WorkerTimers } from './work/worker-timers.js'

// The entry of a worker's thread: loads the module, and runs its tasks when their timers are due.
const { memory, origin, owner, module, data } = workerData as WorkerStart
const names = new TaskNames()
const tasks: Task[] = []
const timers: WorkerTimers = new WorkerTimers({
  memory,
  owner,
  clock: new ThreadClock(origin),
  tasks: names,
  data,
  onDue: (dueTick) => executor.onDue(dueTick),
})
const executor: Executor = new Executor({
  memory,
  owner,
  tasks,
  timers,
  onError: (error, task, payload) =>
    send({ failed: error instanceof Error ? error : String(error), task, payload }),
})
provide(timers)

// The listener also keeps the thread alive while it waits for the metronome.
parentPort!.on('message', (message: ToWorker) => {
  if ('stop' in message) {
    void stop()
    return
  }
  const { orphans } = message
  for (let at = 0; at < orphans.length; at += 2) timers.adopt(orphans[at]!, orphans[at + 1]!)
  executor.turn()
})

try {
  const found = tasksOf((await import(module)) as Record<string, unknown>)
  tasks.push(...found.values())
  names.define([...found.keys()])
  send({ ready: [...found.keys()] })
  executor.turn()
} catch (error) {
  send({ refused: error instanceof Error ? (error.stack ?? error.message) : String(error) })
}

async function stop(): Promise<void> {
  await executor.stop()
  timers.close()
  process.exit()
}

function send(message: FromWorker): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort!.postMessage(message)
}
