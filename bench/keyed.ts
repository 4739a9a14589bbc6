import { lower, type Metric, MAX_IN_A_MAP, type NodeCandidate } from './harness/bench.js'
import { runBench } from './harness/run.js'
import { measureKeyed } from './keyed/passes.js'

/**
 * npm run bench keyed: the keyed wheel with string keys of 20 characters, against a Map with plain objects and against
 * Go's maps.
 *
 * The workload: n timers with delays uniform over 60 s of 1 ms ticks, from the seeded sequence of the wheel bench. For
 * every pass and operation new strings are built before they are used, flat and without a hash. So a removed key is equal
 * to the key that was set, but never the same string. All candidates must fire and remove the same timers, or the run
 * fails.
 *
 * Mixed pass: set all, move a fifth, fire half in 30,000 ticks, remove all keys in random order (about half of them have
 * fired), set all again. Live pass: set all in a new structure, remove all in random order.
 */
const metrics: readonly Metric[] = [
  lower('set', 'ns', 'one set of a new key in a new structure, including growth and page faults'),
  lower('remove', 'ns', 'one remove in random order, while all keys are pending'),
  lower('set+remove', 'ns', 'the two together'),
  lower('re-set', 'ns', 'one set after all earlier keys fired or were removed'),
  lower('move', 'ns', 'one move of a pending key'),
  lower('fire', 'ns', 'all ticks, with one clock reading each, per fired timer'),
  lower('half remove', 'ns', 'one remove in random order, after about half of the keys have fired'),
  lower('tick avg', 'µs', 'one 1 ms tick'),
  lower('tick worst', 'µs', 'the longest 1 ms tick, including interruptions'),
  lower('tick no gc', 'µs', 'the longest 1 ms tick, without garbage collection'),
  lower('pause', 'ms', 'the longest 256 operations other than ticks, without garbage collection'),
  lower('pause+gc', 'ms', 'the longest 256 operations other than ticks, with garbage collection'),
  lower('resident', 'bytes', 'growth of the resident set per pending timer, without the key'),
  lower('gc worst', 'ms', 'the longest garbage collection pause within timed work'),
  lower('gc total', 'ms', 'the sum of these pauses'),
]

await runBench({
  name: 'keyed',
  about: 'keyed timers with strings of 20 characters, in simulated time',
  defaultN: 1_000_000,
  leastN: 1000,
  defaultRounds: 3,
  metrics,
  candidates: [
    {
      name: 'ours',
      about: "TimingWheel of 'carillon/wheel'",
      measure: async (task) => await measureKeyed((await import('./keyed/ours.js')).ours(0), task),
    },
    {
      name: 'reserved',
      about: 'the same, with memory for all timers reserved at creation',
      measure: async (task) => await measureKeyed((await import('./keyed/ours.js')).ours(task.n), task),
    },
    plainWheel('plain-300', 300, "go-zero's own size, so timers wait for up to 200 turns"),
    plainWheel('plain-64k', 65_536, 'every delay within one turn: the most favourable size'),
    {
      name: 'go-maps',
      about: 'Go: maps and a mutex, ticks of 1 s, string keys',
      language: 'go',
      source: 'go/maps',
      args: ['keyed'],
    },
  ],
})

function plainWheel(name: string, slots: number, why: string): NodeCandidate {
  return {
    name,
    about: `go-zero's wheel in plain objects and a Map, ${slots} slots (${why})`,
    mostN: MAX_IN_A_MAP,
    measure: async (task) => await measureKeyed((await import('./keyed/plain.js')).plain(slots), task),
  }
}
