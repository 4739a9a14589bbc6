import { lower, type Metric } from './harness/bench.js'
import { runBench } from './harness/run.js'

/**
 * npm run bench postgres: timers of 120 bytes with keys of 20 characters in PostgreSQL, beside the least that the
 * same server can be asked for: the same columns under the same two unique indexes, every commit flushed.
 *
 * Whole pass: n timers due within an hour are added 10,000 to a write, a tenth is cancelled and a tenth moved,
 * 1,000 to a write; then all are loaded in pages of 10,000, and settled and swept. Small pass: a fresh table,
 * 1,000 to a write. The floors add the same rows, read them and delete them by ranges, and know of no names,
 * fences or levels. Each candidate has a server of its own, started for it; that is not measured.
 */
const metrics: readonly Metric[] = [
  lower('add 10k', 'µs', 'one timer, in writes of 10,000'),
  lower('add 1k', 'µs', 'one timer, in writes of 1,000'),
  lower('set 1', 'µs', 'one timer, in separate writes, one after the other'),
  lower('cancel', 'µs', 'one cancel by key, in writes of 1,000'),
  lower('move', 'µs', 'one move by key, in writes of 1,000'),
  lower('load', 'µs', 'one timer loaded, its row made and its payload looked at'),
  lower('settle', 'µs', 'one timer settled and swept; a floor deletes it by its range'),
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
      about: 'insert … select from unnest, lists as the driver writes them',
      measure: async (task) => await (await import('./postgres/floor.js')).measureFloor('unnest', task),
    },
    {
      name: 'copy',
      about: 'copy … from stdin in binary',
      measure: async (task) => await (await import('./postgres/floor.js')).measureFloor('copy', task),
    },
  ],
})
