import process from 'node:process'
import { lower, type Metric } from './harness/bench.js'
import { installPeers, isAsked } from './harness/peer-packages.js'
import { runBench } from './harness/run.js'
import { plainJobAbsence } from './stores/plainjob.js'
import { measureStore } from './stores/passes.js'

/**
 * npm run bench stores: timers of 120 bytes with keys of 20 characters in every store, against the speed of the disk and
 * against plainjob.
 *
 * Whole pass: n timers due within an hour are added, 10,000 per write, each write awaited. A tenth is cancelled and a tenth
 * moved, 1,000 per write. A durable store is stopped and opened again. Then all are loaded in windows of two minutes, every
 * row is created, and each window is settled and swept. Small pass: an empty store, 1,000 per write. Single pass: an empty
 * store, writes of one timer each, 1,000 in flight. Creating the operations is not measured. Beyond 5 M timers only adding
 * is measured.
 */
const metrics: readonly Metric[] = [
  lower('add 10k', 'µs', 'one timer, in writes of 10,000'),
  lower('add tail', 'µs', 'the same for the last tenth: the cost of adding when the store is full'),
  lower('add 1k', 'µs', 'one timer, in writes of 1,000'),
  lower('set 1', 'µs', 'one timer, in separate writes with 1,000 in flight'),
  lower('cancel', 'µs', 'one cancel by key, in writes of 1,000'),
  lower('move', 'µs', 'one move by key, in writes of 1,000'),
  lower('load', 'µs', 'one timer loaded in a page, as columns'),
  lower('rows', 'µs', 'its row created from the page, and its payload read'),
  lower('settle', 'µs', 'one timer settled and swept'),
  lower('load+settle', 'µs', 'loading and settling together'),
  lower('fire', 'µs', 'loading, creating the row and settling together'),
  lower('open', 'ms', 'opening the stored timers and acquiring the shard'),
  lower('open keys', 'ms', 'the same, until a timer is found by its key'),
  lower('resident', 'bytes', 'growth of the resident set per timer, after adding'),
  lower('disk', 'bytes', 'disk space per timer, after adding'),
]

// better-sqlite3 compiles for minutes, but only once.
if (isAsked(process.argv.slice(2), 'plainjob')) installPeers('plainjob')

await runBench({
  name: 'stores',
  about: 'timers of 120 bytes with keys of 20 characters: add, cancel, move, load, settle',
  defaultN: 1_000_000,
  leastN: 20_000,
  defaultRounds: 3,
  metrics,
  candidates: [
    {
      name: 'file',
      about: "openStore('file:…')",
      measure: async (task) => await measureStore((await import('./stores/subject.js')).file, task),
    },
    {
      name: 'memory',
      about: 'MemoryStore, the reference',
      mostRounds: 2,
      mostN: 10_000_000,
      measure: async (task) => await measureStore((await import('./stores/subject.js')).memory, task),
    },
    {
      name: 'redis',
      about: 'a separate Redis server, append-only file flushed every second',
      mostN: 2_000_000,
      measure: async (task) => await measureStore((await import('./stores/redis.js')).redis, task),
    },
    {
      name: 'redis-volatile',
      about: 'the same without any persistence',
      mostN: 2_000_000,
      measure: async (task) => await measureStore((await import('./stores/redis.js')).volatileRedis, task),
    },
    {
      name: 'redis-floor',
      about: 'the same data in variadic commands, append-only file flushed every second',
      mostN: 2_000_000,
      measure: async (task) => await (await import('./stores/redis-floor.js')).measureRedisFloor(task),
    },
    {
      name: 'floor',
      about: 'encode, append to one file, fdatasync once per batch',
      measure: async (task) => await (await import('./stores/floor.js')).measureFloor(task),
    },
    {
      name: 'plainjob',
      about: 'plainjob on better-sqlite3',
      mostRounds: 2,
      mostN: 5_000_000,
      absent: plainJobAbsence(),
      measure: async (task) => await (await import('./stores/plainjob.js')).measurePlainJob(task),
    },
  ],
})
