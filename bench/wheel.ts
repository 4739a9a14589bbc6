import { lower, type Metric, MOST_IN_A_MAP, type NodeCandidate } from './harness/bench.js'
import { runBench } from './harness/run.js'
import { measureSubject } from './wheel/passes.js'

/**
 * npm run bench wheel: the wheel against what else a Node developer could take, and against C and Go.
 *
 * The workload: n timers, delays uniform in 60 s of 1 ms ticks, all from one seeded sequence that the programs
 * in Go and C repeat. Handles are kept by the caller in room taken before, and put into random order before
 * they are used. Every candidate carries one token per timer and adds it up when it fires; counts and sums must
 * agree, or the run fails. Each process first measures memory, then runs the same passes at a small size so that
 * the code is hot, then the measured ones, up to 2 M timers three times: in the first V8 still compiles.
 *
 * Mixed pass: add all, move a fifth, fire half by 30,000 ticks, cancel all handles (about half of them stale
 * by then), add all again. Live pass: add all and cancel all in random order, then advance an otherwise
 * empty structure by 60,000 ticks; in a fresh structure add all and fire all by 60,000 ticks.
 */
const metrics: readonly Metric[] = [
  lower('add', 'ns', 'one set into a fresh structure, growth and page faults included'),
  lower('re-add', 'ns', 'one set where all timers before fired or were cancelled'),
  lower('move', 'ns', 'one move of a pending timer, before anything fired'),
  lower('fire', 'ns', 'all ticks of the mixed pass, with one reading of the clock each, per timer fired'),
  lower('cancel', 'ns', 'one cancel in random order, about half of the handles stale'),
  lower('tick avg', 'µs', 'one 1 ms tick of the mixed pass'),
  lower('tick worst', 'µs', 'the longest 1 ms tick of the mixed pass, whatever interrupted it included'),
  lower('live cancel', 'ns', 'one cancel in random order, all handles live'),
  lower(
    'cancel debt',
    'ns',
    'the 60,000 ticks after all were cancelled, per timer: what a lazy cancel puts off',
  ),
  lower('live fire', 'ns', 'all ticks that fire all timers, with one reading of the clock each, per timer'),
  lower('live tick worst', 'µs', 'the longest of these ticks'),
  lower('bytes', 'bytes', 'held per pending timer with its token, after all are added, without the handles'),
  lower('resident', 'bytes', 'the same by the growth of the resident set'),
  lower('gc worst', 'ms', 'longest pause for garbage collection inside anything timed'),
  lower('gc total', 'ms', 'all these pauses together'),
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
      about: 'the same with room for all timers reserved when it is made',
      measure: async (task) => await measureSubject((await import('./wheel/ours.js')).ours(task.n), task),
    },
    {
      name: 'c',
      about: 'the same kind of wheel in C: the limit',
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
    plainWheel('plain-300', 300, "go-zero's own size, so timers wait out up to 200 turns", 1),
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
    mostN: MOST_IN_A_MAP,
    measure: async (task) => await measureSubject((await import('./wheel/plain.js')).plain(slots), task),
  }
}
