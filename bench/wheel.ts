import { lower, type Metric, MAX_IN_A_MAP, type NodeCandidate } from './harness/bench.js'
import { runBench } from './harness/run.js'
import { measureSubject } from './wheel/passes.js'

/**
 * npm run bench wheel: the wheel against the alternatives of a Node developer, and against C and Go.
 *
 * The workload: n timers with delays uniform over 60 s of 1 ms ticks, from one seeded sequence that the programs in Go and C
 * repeat. The caller keeps the handles in memory that was allocated before, and shuffles them before they are used. Every
 * candidate carries one token per timer and sums it up when the timer fires. Counts and sums must agree, or the run fails.
 * Each process first measures memory. Then it runs the passes at a small size to warm up the code. Then it runs the measured
 * ones, three times for up to 2 M timers: during the first V8 still compiles.
 *
 * Mixed pass: add all, move a fifth, fire half in 30,000 ticks, cancel all handles (about half of them are stale), add all
 * again. Live pass: add all and cancel all in random order, then advance the empty structure by 60,000 ticks; in a new
 * structure add all and fire all in 60,000 ticks.
 */
const metrics: readonly Metric[] = [
  lower('add', 'ns', 'one set in a new structure, including growth and page faults'),
  lower('re-add', 'ns', 'one set after all earlier timers fired or were cancelled'),
  lower('move', 'ns', 'one move of a pending timer, before any timer fired'),
  lower('fire', 'ns', 'all ticks of the mixed pass, with one clock reading each, per fired timer'),
  lower('cancel', 'ns', 'one cancel in random order, with about half of the handles stale'),
  lower('tick avg', 'µs', 'one 1 ms tick of the mixed pass'),
  lower('tick worst', 'µs', 'the longest 1 ms tick of the mixed pass, including interruptions'),
  lower('live cancel', 'ns', 'one cancel in random order, with all handles live'),
  lower(
    'cancel debt',
    'ns',
    'the 60,000 ticks after all were cancelled, per timer: the work that a lazy cancel defers',
  ),
  lower('live fire', 'ns', 'all ticks that fire all timers, with one clock reading each, per timer'),
  lower('live tick worst', 'µs', 'the longest of these ticks'),
  lower(
    'bytes',
    'bytes',
    'memory per pending timer with its token, after all are added, without the handles',
  ),
  lower('resident', 'bytes', 'the same as growth of the resident set'),
  lower('gc worst', 'ms', 'the longest garbage collection pause within timed work'),
  lower('gc total', 'ms', 'the sum of these pauses'),
]

await runBench({
  name: 'wheel',
  about: 'timer structures in simulated time: add, move, fire and cancel by handles',
  defaultN: 1_000_000,
  leastN: 1000,
  defaultRounds: 3,
  metrics,
  candidates: [
    {
      name: 'ours',
      about: "Wheel of 'carillon/wheel'",
      measure: async (task) => await measureSubject((await import('./wheel/ours.js')).ours(0), task),
    },
    {
      name: 'reserved',
      about: 'the same, with memory for all timers reserved at creation',
      measure: async (task) => await measureSubject((await import('./wheel/ours.js')).ours(task.n), task),
    },
    {
      name: 'c',
      about: 'the same kind of wheel in C, as the limit',
      language: 'c',
      source: 'c/wheel.c',
      args: [],
    },
    {
      name: 'heap',
      about: 'binary heap with ids in plain JavaScript',
      measure: async (task) =>
        await measureSubject((await import('./wheel/binary-heap.js')).binaryHeap, task),
    },
    plainWheel('plain-300', 300, "go-zero's own size, so timers wait for up to 200 turns", 1),
    plainWheel('plain-64k', 65_536, 'every delay within one turn: the most favourable size'),
    {
      name: 'timeout',
      about: "Node's setTimeout",
      measure: async (task) => await (await import('./wheel/timeouts.js')).measureTimeouts(task),
    },
    {
      name: 'undici',
      about: "undici's fast timers, resolution 1 s",
      measure: async (task) =>
        await measureSubject((await import('./wheel/fast-timers.js')).fastTimers, task),
    },
    {
      name: 'go-maps',
      about: 'Go: maps and a mutex, ticks of 1 s, integer keys',
      language: 'go',
      source: 'go/maps',
      args: ['wheel'],
    },
    {
      name: 'go-afterfunc',
      about: 'Go: time.AfterFunc',
      language: 'go',
      source: 'go/afterfunc',
      args: [],
    },
  ],
})

function plainWheel(name: string, slots: number, why: string, mostRounds = Infinity): NodeCandidate {
  return {
    name,
    about: `go-zero's wheel in plain objects, ${slots} slots (${why})`,
    mostRounds,
    mostN: MAX_IN_A_MAP,
    measure: async (task) => await measureSubject((await import('./wheel/plain.js')).plain(slots), task),
  }
}
