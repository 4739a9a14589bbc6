import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../time/index.js'
import type { Firing } from '../../timer/index.js'
import type { Handle } from '../handlers.js'
import { TimerFiring } from '../timer-firing.js'
import type { FromThread, JobMessage, ThreadStart, ToThread } from './messages.js'
import { receivedError, sentError } from './sent-error.js'

// The entry of a handler's thread: loads the module, and calls its default export for each job.
const { module, begun } = workerData as ThreadStart
let handle: Handle<unknown> | undefined
const queue: JobMessage[] = []
let isStarting = false
const running = new Map<number, TimerFiring>()
// Jobs that were aborted while they waited for their turn.
const dropped = new Set<number>()

// The listener also keeps the thread alive.
parentPort!.on('message', (message: ToThread) => {
  if ('run' in message) {
    queue.push(message.run)
    if (!isStarting) void startEach()
  } else if ('ping' in message) send({ type: 'pong', ping: message.ping })
  else abort(message.abort, receivedError(message.reason))
})

try {
  const loaded = (await import(module)) as { readonly default?: unknown }
  if (typeof loaded.default !== 'function')
    throw new TypeError('its default export must be the function that handles a firing')
  handle = loaded.default as Handle<unknown>
  send({ type: 'ready' })
} catch (error) {
  send({ type: 'refused', error: sentError(error) })
}

/** Starts one job in each turn of the event loop. So a job that is aborted while another one computes never starts. */
async function startEach(): Promise<void> {
  isStarting = true
  while (queue.length > 0) {
    await systemClock.turnEnd()
    const next = queue.shift()
    if (next !== undefined) void run(next)
  }
  isStarting = false
}

async function run(message: JobMessage): Promise<void> {
  const { job } = message
  Atomics.add(begun, 0, 1)
  if (dropped.delete(job)) return
  const given = firingOf(message)
  running.set(job, given)
  try {
    await handle!(given)
    const againAt = TimerFiring.againAt(given)
    send({ type: 'ended', job, againAt, isEnd: TimerFiring.isEnded(given) })
  } catch (error) {
    send({ type: 'failed', job, error: sentError(error) })
  }
  running.delete(job)
}

function abort(job: number, reason: Error): void {
  const given = running.get(job)
  if (given !== undefined) TimerFiring.abort(given, reason)
  else if (queue.some((each) => each.job === job)) dropped.add(job)
}

function firingOf({ aheadMs, payload, ...facts }: JobMessage): TimerFiring {
  const firing: Firing = {
    ...facts,
    isLive: true,
    start: () => true,
    postpone: () => undefined,
    report: () => undefined,
  }
  const given = new TimerFiring(firing, { now: () => systemClock.now() + aheadMs })
  if (payload !== undefined) TimerFiring.setPayload(given, payload.value)
  return given
}

function send(message: FromThread): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort!.postMessage(message)
}
