import { workerData } from 'node:worker_threads'
import { systemClock } from '../../time/index.js'
import { AlarmLoop } from './alarm-loop.js'
import type { AlarmThreadStart } from './alarm-thread.js'

// The entry of the thread that waits for alarms. It runs until it is terminated.
const { words, port } = workerData as AlarmThreadStart
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port has no origin
const loop = new AlarmLoop(words, systemClock, () => port.postMessage(0))
for (;;) loop.beat()
