import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Measurement, Task } from '../harness/bench.js'
import { Memory } from '../harness/memory.js'
import { isInstalled, peerFolder } from '../harness/peer-packages.js'
import { Folder } from './folder.js'
import { Timers } from './timers.js'

/** The used part of the package plainjob, which is installed in bench/peers/plainjob. */
interface PlainJob {
  readonly better: (database: unknown) => unknown
  readonly defineQueue: (options: { connection: unknown; logger: object }) => Queue
}

interface Queue {
  add(type: string, data: unknown, options?: { delay?: number }): unknown
  addMany(type: string, data: unknown[], options?: { delay?: number }): { ids: number[] }
  getAndMarkJobAsProcessing(type: string): { id: number } | undefined
  markJobAsDone(id: number): void
  close(): void
}

const MAX_SINGLE = 50_000
const MAX_FIRED = 50_000
const silent = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} }

/**
 * plainjob on better-sqlite3 with its defaults: WAL with `synchronous = NORMAL`. So a power loss may lose an acknowledged
 * job, but a crash of the process does not. It has no cancel, no move, and one delay for a whole batch.
 */
export async function measurePlainJob({ n, seed }: Task): Promise<Measurement> {
  const { better, defineQueue } = (await imported('plainjob')) as PlainJob
  const { default: Database } = (await imported('better-sqlite3')) as {
    default: new (file: string) => unknown
  }
  const folder = new Folder()
  const open = (name: string): Queue =>
    defineQueue({ connection: better(new Database(path.join(folder.path, name))), logger: silent })
  try {
    const warm = open('warm')
    for (let i = 0; i < 20; i++) addBatch(warm, new Timers(1000, seed, 0), 0, 1000)
    warm.close()
    const before = new Memory()
    const timers = new Timers(n, seed, 0)
    const queue = open('queue')
    const diskBefore = folder.diskBytes()
    const add10k = addAll(queue, timers, 10_000)
    const { residentBytes } = new Memory().since(before)
    const disk = (folder.diskBytes() - diskBefore) / n
    queue.close()
    const small = open('small')
    const add1k = addAll(small, new Timers(Math.min(n, 1_000_000), seed, 0), 1000)
    small.close()
    const single = open('single')
    const count = Math.min(n, MAX_SINGLE)
    const jobs = Array.from({ length: count }, (_, i) => dataOf(timers, i))
    let from = performance.now()
    for (const job of jobs) single.add('remind', job)
    const singleMs = performance.now() - from
    const fired = Math.min(count, MAX_FIRED)
    from = performance.now()
    for (let i = 0; i < fired; i++) single.markJobAsDone(single.getAndMarkJobAsProcessing('remind')!.id)
    const fireMs = performance.now() - from
    single.close()
    return {
      metrics: {
        'add 10k': add10k,
        'add 1k': add1k,
        'set 1': (singleMs * 1e3) / count,
        fire: (fireMs * 1e3) / fired,
        resident: residentBytes / n,
        disk,
      },
      checks: {},
      notes: [
        'with its defaults: synchronous = NORMAL, which does not survive a power loss; no cancel, no move',
      ],
    }
  } finally {
    folder.remove()
  }
}

function addAll(queue: Queue, timers: Timers, batch: number): number {
  let ms = 0
  for (let i = 0; i < timers.n; i += batch) ms += addBatch(queue, timers, i, Math.min(batch, timers.n - i))
  return (ms * 1e3) / timers.n
}

function addBatch(queue: Queue, timers: Timers, from: number, size: number): number {
  const data = Array.from({ length: size }, (_, j) => dataOf(timers, from + j))
  const began = performance.now()
  queue.addMany('remind', data, { delay: timers.dueAt(from) })
  return performance.now() - began
}

/** The payload as a string: plainjob stores JSON. */
function dataOf(timers: Timers, index: number): { key: string; payload: string } {
  return {
    key: timers.key(index),
    payload: Buffer.from(timers.payload(index)).toString('base64').slice(0, 120),
  }
}

/** Why plainjob cannot be measured here. Undefined if it can. */
export function plainJobAbsence(): string | undefined {
  return isInstalled(peerFolder('plainjob'))
    ? undefined
    : "not here: 'npm ci' in bench/peers/plainjob brings it, in some minutes"
}

async function imported(name: string): Promise<unknown> {
  const { resolve } = createRequire(path.join(peerFolder('plainjob'), 'package.json'))
  return (await import(pathToFileURL(resolve(name)).href)) as unknown
}
