import path from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import type { Measurement, NodeCandidate, Task } from '../harness/bench.js'
import { postgres, redis, type ServerKind, volatileRedis } from './counted-server.js'
import type { Driven } from './driven.js'
import { isInstalled, peerFolder, peerNode } from '../harness/peer-packages.js'

const ours = fileURLToPath(new URL('ours.js', import.meta.url))
const manyShards = fileURLToPath(new URL('many-shards.js', import.meta.url))
const claim = fileURLToPath(new URL('claim.js', import.meta.url))
const asking = fileURLToPath(new URL('asking.js', import.meta.url))
const topology = fileURLToPath(new URL('topology/ours.js', import.meta.url))
const PEERS = 'servers'

/** The server that a candidate runs on. Ratios are against ours on the same server. */
export type ServerName = 'postgres' | 'redis'

export type MeasureDriven = (driven: Driven, task: Task) => Promise<Measurement>

/** Which parts of the bench have a candidate: those with one process, or the topology with two. */
type Parts = 'one-process' | 'topology'

const named: readonly {
  readonly name: string
  readonly on: ServerName
  readonly about: string
  readonly server: ServerKind
  /** The module of one of ours. */
  readonly module?: string
  /** The file of a peer. */
  readonly peer?: string
  /** Default: all. */
  readonly parts?: Parts
  /** In the topology: it sets and fires in one process. */
  readonly isOneProcess?: boolean
}[] = [
  {
    name: 'postgres',
    on: 'postgres',
    parts: 'one-process',
    about: "openTimers on 'postgres://…', every commit flushed",
    server: postgres,
    module: ours,
  },
  {
    name: 'postgres-64',
    on: 'postgres',
    parts: 'one-process',
    about: 'the same with 64 shards',
    server: postgres,
    module: manyShards,
  },
  {
    name: 'postgres-asking',
    on: 'postgres',
    parts: 'one-process',
    about: 'the same, added through inboxes by an instance that fires no timers',
    server: postgres,
    module: asking,
  },
  {
    name: 'postgres-claim',
    on: 'postgres',
    parts: 'one-process',
    about: "with the strategy 'claim', which serverless functions use",
    server: postgres,
    module: claim,
  },
  {
    name: 'postgres-web',
    on: 'postgres',
    parts: 'topology',
    about: "openTimers on 'postgres://…': one process is opened and never started, another one fires",
    server: postgres,
    module: topology,
  },
  {
    name: 'postgres-owner',
    on: 'postgres',
    parts: 'topology',
    isOneProcess: true,
    about: 'the same in one process, which owns every shard',
    server: postgres,
    module: topology,
  },
  {
    name: 'pg-boss',
    on: 'postgres',
    about: 'pg-boss 12 on the same server',
    server: postgres,
    peer: 'pg-boss.mjs',
  },
  {
    name: 'graphile',
    on: 'postgres',
    about: 'graphile-worker 0.18 on the same server',
    server: postgres,
    peer: 'graphile-worker.mjs',
  },
  {
    name: 'bullmq-postgres',
    on: 'postgres',
    about: 'BullMQ 6 on the same PostgreSQL server',
    server: postgres,
    peer: 'bullmq-postgres.mjs',
  },
  {
    name: 'redis',
    on: 'redis',
    parts: 'one-process',
    about: "openTimers on 'redis://…', append-only file flushed every second",
    server: redis,
    module: ours,
  },
  {
    name: 'redis-64',
    on: 'redis',
    parts: 'one-process',
    about: 'the same with 64 shards',
    server: redis,
    module: manyShards,
  },
  {
    name: 'redis-claim',
    on: 'redis',
    parts: 'one-process',
    about: "with the append-only file and the strategy 'claim'",
    server: redis,
    module: claim,
  },
  {
    name: 'redis-volatile',
    on: 'redis',
    parts: 'one-process',
    about: 'the same, without any persistence',
    server: volatileRedis,
    module: ours,
  },
  {
    name: 'redis-asking',
    on: 'redis',
    parts: 'one-process',
    about: 'with the append-only file, added through inboxes by an instance that fires no timers',
    server: redis,
    module: asking,
  },
  {
    name: 'redis-web',
    on: 'redis',
    parts: 'topology',
    about: "openTimers on 'redis://…': one process is opened and never started, another one fires",
    server: redis,
    module: topology,
  },
  {
    name: 'redis-owner',
    on: 'redis',
    parts: 'topology',
    isOneProcess: true,
    about: 'the same in one process, which owns every shard',
    server: redis,
    module: topology,
  },
  { name: 'bullmq', on: 'redis', about: 'BullMQ 6 on the same server', server: redis, peer: 'bullmq.mjs' },
  {
    name: 'bullmq-volatile',
    on: 'redis',
    parts: 'one-process',
    about: 'BullMQ 6 without any persistence',
    server: volatileRedis,
    peer: 'bullmq.mjs',
  },
]

/** Ours first, then the peers, each with its own process and server. `circumstance` is the end of their names. */
export function drivenCandidates(
  on: ServerName,
  measure: MeasureDriven,
  circumstance = '',
  parts: Parts = 'one-process',
): NodeCandidate[] {
  const folder = peerFolder(PEERS)
  const node = peerNode(folder)
  return named
    .filter((each) => each.on === on && (each.parts ?? parts) === parts)
    .map(({ name: plainName, about, server, module, peer = '', isOneProcess = false }): NodeCandidate => {
      const name = plainName + circumstance
      if (module !== undefined) {
        const driven = { module, node: process.execPath, server, isOneProcess }
        return { name, about, measure: async (task) => await measure(driven, task) }
      }
      const absent = absenceOf(folder, node)
      return {
        name,
        about,
        absent,
        measure: async (task) =>
          await measure({ module: path.join(folder, peer), node: node!, server }, task),
      }
    })
}

function absenceOf(folder: string, node: string | undefined): string | undefined {
  if (!isInstalled(folder)) return `skipped: 'npm ci' in bench/peers/${PEERS} failed`
  return node === undefined
    ? 'skipped: it needs Node 22.18, which is not available on this machine'
    : undefined
}
