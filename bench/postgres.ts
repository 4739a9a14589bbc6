import { lower, type Metric } from './harness/bench.js'
import { runBench } from './harness/run.js'

/**
 * npm run bench postgres: timers of 120 bytes with keys of 20 characters in PostgreSQL, against floors: the least work that
 * stores the same columns with the same two unique indexes. Every commit is flushed.
 *
 * Whole pass: n timers due within an hour are added, 10,000 per write. A tenth is cancelled and a tenth moved, 1,000 per
 * write. Then all are loaded in pages of 10,000, settled and swept. Small pass: an empty table, 1,000 per write. The floors
 * add the same rows, read them and delete them by range, without names, fences or levels. Each candidate has its own
 * server. Starting it is not measured.
 */
const metrics: readonly Metric[] = [
  lower('add 10k', 'µs', 'one timer, in writes of 10,000'),
  lower('add 1k', 'µs', 'one timer, in writes of 1,000'),
  lower('set 1', 'µs', 'one timer, in separate writes, one after the other'),
  lower('cancel', 'µs', 'one cancel by key, in writes of 1,000'),
  lower('move', 'µs', 'one move by key, in writes of 1,000'),
  lower('load', 'µs', 'one timer loaded, its row created and its payload read'),
  lower('settle', 'µs', 'one timer settled and swept; a floor deletes it by range'),
]

await runBench({
  name: 'postgres',
  about: 'timers of 120 bytes with keys of 20 characters in PostgreSQL: add, cancel, move, load, settle',
  defaultN: 50_000,
  leastN: 20_000,
  defaultRounds: 3,
  metrics,
  candidates: [
    {
      name: 'postgres',
      about: "openStore('postgres://…')",
      measure: async (task) => await (await import('./postgres/ours.js')).measureOurs(task),
    },
    {
      name: 'unnest',
      about: 'insert … select from unnest, arrays as the driver writes them',
      measure: async (task) => await (await import('./postgres/floor.js')).measureFloor('unnest', task),
    },
    {
      name: 'copy',
      about: 'copy … from stdin in binary',
      measure: async (task) => await (await import('./postgres/floor.js')).measureFloor('copy', task),
    },
  ],
})
