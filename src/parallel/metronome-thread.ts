import { workerData } from 'node:worker_threads'
import { ThreadClock } from '../time/index.js'
import type { MetronomeStart } from './messages.js'
import { Metronome } from './work/metronome.js'

// The entry of the metronome's thread. It runs until it is terminated.
const { memory, origin } = workerData as MetronomeStart
const metronome = new Metronome(memory, new ThreadClock(origin))
for (;;) metronome.beat()
