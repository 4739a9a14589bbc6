import { lower, type Metric, MOST_IN_A_MAP, type NodeCandidate } from './harness/bench.js'
import { runBench } from './harness/run.js'
import { measureKeyed } from './keyed/passes.js'

/**
 * npm run bench keyed: the keyed wheel with string keys of 20 characters against a Map and plain objects, and
 * against Go's maps.
 *
 * The workload: n timers, delays uniform in 60 s of 1 ms ticks, from the seeded sequence of the wheel bench.
 * Strings are built before they are used, flat, without a hash, and for every pass and operation anew, so what
 * is removed is equal to what was set but never the same string. What fires and what is removed must agree
 * among all candidates, or the run fails.
 *
 * Mixed pass: set all, move a fifth, fire half by 30,000 ticks, remove all keys in random order (about half of
 * them gone by then), set all again. Live pass: set all in a fresh structure, remove all in random order.
 */
const metrics: readonly Metric[] = [
  lower('set', 'ns', 'one set of a new key into a fresh structure, growth and page faults included'),
  lower('remove', 'ns', 'one remove in random order, all keys pending'),
  lower('set+remove', 'ns', 'the two together'),
  lower('re-set', 'ns', 'one set where all keys before fired or were removed'),
  lower('move', 'ns', 'one move of a pending key'),
  lower('fire', 'ns', 'all ticks, with one reading of the clock each, per timer fired'),
  lower('half remove', 'ns', 'one remove in random order, about half of the keys gone'),
  lower('tick avg', 'µs', 'one 1 ms tick'),
  lower('tick worst', 'µs', 'the longest 1 ms tick, whatever interrupted it included'),
  lower('tick no gc', 'µs', 'the longest 1 ms tick, garbage collection taken off'),
  lower('pause', 'ms', 'the longest 256 operations of any kind but ticks, garbage collection taken off'),
  lower('pause+gc', 'ms', 'the longest 256 operations of any kind but ticks, as they were'),
  lower('resident', 'bytes', 'growth of the resident set per pending timer, without the key'),
  lower('gc worst', 'ms', 'longest pause for garbage collection inside anything timed'),
  lower('gc total', 'ms', 'all these pauses together'),
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
      about: 'the same with room for all timers reserved when it is made',
      measure: async (task) => await measureKeyed((await import('./keyed/ours.js')).ours(task.n), task),
    },
    plainWheel('plain-300', 300, "go-zero's own size, so timers wait out up to 200 turns"),
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
    mostN: MOST_IN_A_MAP,
    measure: async (task) => await measureKeyed((await import('./keyed/plain.js')).plain(slots), task),
  }
}
