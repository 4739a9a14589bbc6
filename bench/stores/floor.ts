import { Buffer } from 'node:buffer'
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import path from 'node:path'
import type { Measurement, Task } from '../harness/bench.js'
import { Folder } from './folder.js'
import { Timers } from './timers.js'

/** The bytes of numbers and lengths before the strings and the payload. */
const HEADER_BYTES = 40
const MAX_SINGLE = 200_000

/**
 * The speed of the disk: the same records are encoded, appended to one file and flushed once per batch. Nothing can be
 * found, cancelled or fired. All that a store costs more than this is the price of its promises.
 */
export async function measureFloor({ n, seed }: Task): Promise<Measurement> {
  const folder = new Folder()
  try {
    appendAll(folder, 50_000, seed, 1000)
    const metrics: Record<string, number> = { 'add 10k': appendAll(folder, n, seed, 10_000) }
    metrics['disk'] = folder.diskBytes() / n
    if (n <= 5_000_000) {
      metrics['add 1k'] = appendAll(folder, Math.min(n, 1_000_000), seed, 1000)
      metrics['set 1'] = await separately(folder, Math.min(n, MAX_SINGLE), seed)
    }
    return { metrics, checks: {}, notes: ['it only appends: nothing can be found, cancelled or fired'] }
  } finally {
    folder.remove()
  }
}

function appendAll(folder: Folder, n: number, seed: number, batch: number): number {
  const timers = new Timers(n, seed, 1_767_225_600_000)
  const file = openSync(path.join(folder.path, 'floor'), 'w')
  try {
    const slab = Buffer.allocUnsafeSlow(batch * 256)
    let ms = 0
    for (let i = 0; i < n; i += batch) {
      const sets = Array.from({ length: Math.min(batch, n - i) }, (_, j) => timers.set(i + j))
      const from = performance.now()
      let at = 0
      for (const set of sets) at = encode(set, slab, at)
      writeSync(file, slab, 0, at)
      fdatasyncSync(file)
      ms += performance.now() - from
    }
    return (ms * 1e3) / n
  } finally {
    closeSync(file)
  }
}

/** A thousand calls in flight share each flush, and each has its own promise. */
async function separately(folder: Folder, n: number, seed: number): Promise<number> {
  const timers = new Timers(n, seed, 1_767_225_600_000)
  const file = openSync(path.join(folder.path, 'floor'), 'w')
  const sets = Array.from({ length: n }, (_, i) => timers.set(i))
  const slab = Buffer.allocUnsafeSlow(1000 * 256)
  let waiting: (() => void)[] = []
  let at = 0
  const flush = (): void => {
    writeSync(file, slab, 0, at)
    fdatasyncSync(file)
    const told = waiting
    waiting = []
    at = 0
    for (const tell of told) tell()
  }
  const add = async (set: (typeof sets)[number]): Promise<void> => {
    at = encode(set, slab, at)
    await new Promise<void>((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(flush)
    })
  }
  let next = 0
  const caller = async (): Promise<void> => {
    while (next < n) await add(sets[next++]!)
  }
  const from = performance.now()
  await Promise.all(Array.from({ length: 1000 }, caller))
  const ms = performance.now() - from
  closeSync(file)
  return (ms * 1e3) / n
}

function encode(set: ReturnType<Timers['set']>, slab: Buffer, at: number): number {
  slab.writeDoubleLE(set.position, at)
  slab.writeDoubleLE(set.dueAt, at + 8)
  slab.writeDoubleLE(set.createdAt, at + 16)
  slab.writeDoubleLE(set.identity, at + 24)
  slab[at + 32] = set.namespace.length
  slab[at + 33] = set.kind.length
  slab[at + 34] = set.key.length
  slab[at + 35] = set.payload.length
  slab[at + 36] = set.attempt
  slab[at + 37] = set.occurrence
  let end = at + HEADER_BYTES
  end += slab.write(set.namespace, end, 'latin1')
  end += slab.write(set.kind, end, 'latin1')
  end += slab.write(set.key, end, 'latin1')
  slab.set(set.payload, end)
  return end + set.payload.length
}
