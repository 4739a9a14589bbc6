import { VirtualClock } from 'carillon/time'
import type { Measurement, Task } from '../harness/bench.js'
import { Memory } from '../harness/memory.js'
import { BenchOwner } from './owner.js'
import type { StoreKind } from './subject.js'
import { HORIZON_MS, Timers } from './timers.js'

const WINDOW_MS = 120_000
const PAGE = 10_000
const CHANGE_BATCH = 1000
const IN_FLIGHT = 1000
const MAX_SINGLE = 200_000
const MAX_SMALL = 1_000_000
/** Beyond this size only adding is measured. */
const MAX_WHOLE = 5_000_000
const WARM_UP = 50_000

/** The passes of the store bench over one store. `bench/stores.ts` explains the figures. */
export async function measureStore(kind: StoreKind, { n, seed }: Task): Promise<Measurement> {
  await wholePass(kind, WARM_UP, seed)
  await smallPass(kind, WARM_UP, seed)
  await singlePass(kind, WARM_UP / 5, seed)
  const whole = await wholePass(kind, n, seed)
  if (n > MAX_WHOLE)
    return { metrics: whole.metrics, checks: {}, notes: ['only adding is measured at this size'] }
  const small = await smallPass(kind, Math.min(n, MAX_SMALL), seed)
  const single = await singlePass(kind, Math.min(n, MAX_SINGLE), seed)
  return {
    metrics: { ...whole.metrics, 'add 1k': small, 'set 1': single },
    checks: whole.checks,
    notes: [],
  }
}

async function wholePass(kind: StoreKind, n: number, seed: number) {
  const clock = new VirtualClock()
  const timers = new Timers(n, seed, clock.now())
  const before = new Memory()
  const subject = await kind(clock)
  try {
    let owner = await BenchOwner.claim(subject.store)
    const added = await addAll(owner, timers, 10_000)
    const metrics: Record<string, number> = {
      'add 10k': added.usEach,
      'add tail': added.tailUsEach,
      disk: subject.diskBytes() / n,
      resident: new Memory().since(before).residentBytes / n,
    }
    if (n > MAX_WHOLE) return { metrics, checks: {} }
    const tenth = Math.floor(n / 10)
    // Every tenth timer is cancelled and the one after it is moved, across the whole hour.
    const cancelled = await inBatches(owner, tenth, 'cancelled', (i) => {
      const { namespace, kind: kindName, key } = timers.set(i * 10)
      return { type: 'cancel', namespace, kind: kindName, key }
    })
    const moved = await inBatches(owner, tenth, 'moved', (i) => {
      const { namespace, kind: kindName, key } = timers.set(i * 10 + 1)
      const dueAt = timers.dueAt((i * 7919) % n)
      return { type: 'move', namespace, kind: kindName, key, dueAt, position: dueAt }
    })
    metrics['cancel'] = cancelled.usEach
    metrics['move'] = moved.usEach
    if (subject.reopen !== undefined) {
      await owner.release()
      await subject.store.stop()
      const from = performance.now()
      owner = await BenchOwner.claim(await subject.reopen())
      metrics['open'] = performance.now() - from
      await owner.store.find([timers.set(0)])
      metrics['open keys'] = performance.now() - from
    }
    const fired = await fireAll(owner, timers, clock)
    const usEach = (ms: number): number => (ms * 1e3) / fired.loaded
    metrics['load'] = usEach(fired.ms.load)
    metrics['rows'] = usEach(fired.ms.rows)
    metrics['settle'] = usEach(fired.ms.settle)
    metrics['load+settle'] = usEach(fired.ms.load + fired.ms.settle)
    metrics['fire'] = usEach(fired.ms.load + fired.ms.rows + fired.ms.settle)
    const left = await owner.store.countRows()
    await owner.store.stop()
    return {
      metrics,
      checks: {
        cancelled: cancelled.count,
        moved: moved.count,
        loaded: fired.loaded,
        bytes: fired.bytes,
        left,
      },
    }
  } finally {
    await subject.store.stop()
    subject.remove()
  }
}

async function addAll(owner: BenchOwner, timers: Timers, batch: number) {
  let ms = 0
  let tailMs = 0
  let tailCount = 0
  for (let i = 0; i < timers.n; i += batch) {
    const size = Math.min(batch, timers.n - i)
    const operations = Array.from({ length: size }, (_, j) => timers.set(i + j))
    const from = performance.now()
    const count = await owner.write(operations, 'set')
    const took = performance.now() - from
    if (count !== size) throw new Error(`${count} of ${size} timers were set`)
    ms += took
    if (i >= timers.n * 0.9) {
      tailMs += took
      tailCount += size
    }
  }
  return { usEach: (ms * 1e3) / timers.n, tailUsEach: (tailMs * 1e3) / Math.max(1, tailCount) }
}

async function inBatches(
  owner: BenchOwner,
  total: number,
  outcome: string,
  make: (i: number) => Parameters<BenchOwner['write']>[0][number],
) {
  let ms = 0
  let count = 0
  for (let i = 0; i < total; i += CHANGE_BATCH) {
    const operations = Array.from({ length: Math.min(CHANGE_BATCH, total - i) }, (_, j) => make(i + j))
    const from = performance.now()
    count += await owner.write(operations, outcome)
    ms += performance.now() - from
  }
  return { usEach: (ms * 1e3) / total, count }
}

/** For each window: loads its timers, creates their rows, advances the clock past it, settles it and sweeps. */
async function fireAll(owner: BenchOwner, timers: Timers, clock: VirtualClock) {
  const ms = { load: 0, rows: 0, settle: 0 }
  let loaded = 0
  let bytes = 0
  for (let until = timers.start + WINDOW_MS; ; until += WINDOW_MS) {
    const before = loaded
    for (;;) {
      const from = performance.now()
      const page = await owner.load(until, PAGE)
      const read = performance.now()
      for (let i = 0; i < page.size; i++) bytes += page.row(i).payload.length
      ms.load += read - from
      ms.rows += performance.now() - read
      loaded += page.size
      if (page.size < PAGE) break
    }
    clock.advanceSync(until - clock.now())
    const from = performance.now()
    await owner.settle(until, loaded - before)
    await owner.sweep()
    ms.settle += performance.now() - from
    if (until > timers.start + HORIZON_MS) break
  }
  return { ms, loaded, bytes }
}

async function smallPass(kind: StoreKind, n: number, seed: number): Promise<number> {
  const clock = new VirtualClock()
  const subject = await kind(clock)
  try {
    const owner = await BenchOwner.claim(subject.store)
    return (await addAll(owner, new Timers(n, seed, clock.now()), 1000)).usEach
  } finally {
    await subject.store.stop()
    subject.remove()
  }
}

/** Separate calls of one timer each, with a thousand always in flight. */
async function singlePass(kind: StoreKind, n: number, seed: number): Promise<number> {
  const clock = new VirtualClock()
  const timers = new Timers(n, seed, clock.now())
  const subject = await kind(clock)
  try {
    const owner = await BenchOwner.claim(subject.store)
    const operations = Array.from({ length: n }, (_, i) => [timers.set(i)])
    let next = 0
    let stored = 0
    const caller = async (): Promise<void> => {
      while (next < n) {
        // Added only after the await: other calls finish in between.
        const count = await owner.write(operations[next++]!, 'set')
        stored += count
      }
    }
    const from = performance.now()
    await Promise.all(Array.from({ length: IN_FLIGHT }, caller))
    const ms = performance.now() - from
    if (stored !== n) throw new Error(`${stored} of ${n} timers were set`)
    return (ms * 1e3) / n
  } finally {
    await subject.store.stop()
    subject.remove()
  }
}
