import path from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import type { Measurement, NodeCandidate, Task } from '../harness/bench.js'
import { postgres, redis, type ServerKind, volatileRedis } from './counted-server.js'
import type { Driven } from './driven.js'
import { isInstalled, peerFolder, peerNode } from '../harness/peer-packages.js'

const ours = fileURLToPath(new URL('ours.js', import.meta.url))
const manyShards = fileURLToPath(new URL('many-shards.js', import.meta.url))
const asking = fileURLToPath(new URL('asking.js', import.meta.url))
const PEERS = 'servers'

/** The server that a candidate runs on. Ratios are against ours on the same server. */
export type ServerName = 'postgres' | 'redis'

export type MeasureDriven = (driven: Driven, task: Task) => Promise<Measurement>

const named: readonly {
  readonly name: string
  readonly on: ServerName
  readonly about: string
  readonly server: ServerKind
  /** The module of one of ours. */
  readonly module?: string
  /** The file of a peer. */
  readonly peer?: string
}[] = [
  {
    name: 'postgres',
    on: 'postgres',
    about: "openTimers on 'postgres://…', every commit flushed",
    server: postgres,
    module: ours,
  },
  {
    name: 'postgres-64',
    on: 'postgres',
    about: 'the same with 64 shards',
    server: postgres,
    module: manyShards,
  },
  {
    name: 'postgres-asking',
    on: 'postgres',
    about: 'the same, added through inboxes by an instance that fires no timers',
    server: postgres,
    module: asking,
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
    name: 'redis',
    on: 'redis',
    about: "openTimers on 'redis://…', append-only file flushed every second",
    server: redis,
    module: ours,
  },
  {
    name: 'redis-64',
    on: 'redis',
    about: 'the same with 64 shards',
    server: redis,
    module: manyShards,
  },
  {
    name: 'redis-volatile',
    on: 'redis',
    about: 'the same, without any persistence',
    server: volatileRedis,
    module: ours,
  },
  {
    name: 'redis-asking',
    on: 'redis',
    about: 'with the append-only file, added through inboxes by an instance that fires no timers',
    server: redis,
    module: asking,
  },
  { name: 'bullmq', on: 'redis', about: 'BullMQ 6 on the same server', server: redis, peer: 'bullmq.mjs' },
  {
    name: 'bullmq-volatile',
    on: 'redis',
    about: 'BullMQ 6 without any persistence',
    server: volatileRedis,
    peer: 'bullmq.mjs',
  },
]

/** Ours first, then the peers, each with its own process and server. `circumstance` is the end of their names. */
export function drivenCandidates(on: ServerName, measure: MeasureDriven, circumstance = ''): NodeCandidate[] {
  const folder = peerFolder(PEERS)
  const node = peerNode(folder)
  return named
    .filter((each) => each.on === on)
    .map(({ name: plainName, about, server, module, peer = '' }): NodeCandidate => {
      const name = plainName + circumstance
      if (module !== undefined) {
        const driven = { module, node: process.execPath, server }
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
