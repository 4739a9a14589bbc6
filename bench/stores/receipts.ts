import process from 'node:process'
import { VirtualClock } from 'carillon/time'
import type { Measurement, Task } from '../harness/bench.js'
import { Laps } from '../harness/laps.js'
import { BenchOwner } from './owner.js'
import type { StoreKind } from './subject.js'
import { Timers } from './timers.js'

const TICK_MS = 1000
/** Timers are due within an hour. After this many ticks the rest is cancelled. */
const TICKS = 1200
const IN_FLIGHT = 1000
const BATCH = 10_000
const WARM_UP = 20_000

/** The life of receipt handles in one store. `bench/receipts.ts` explains the figures. */
export async function measureReceipts(kind: StoreKind, { n, seed }: Task): Promise<Measurement> {
  await pass(kind, Math.min(n, WARM_UP), seed)
  return await pass(kind, n, seed)
}

async function pass(kind: StoreKind, n: number, seed: number): Promise<Measurement> {
  const clock = new VirtualClock()
  const timers = new Timers(n, seed, clock.now())
  const subject = await kind(clock)
  try {
    const owner = await BenchOwner.claim(subject.store)
    const half = Math.floor(n / 2)
    const userBefore = process.cpuUsage().user
    const singleMs = await separately(owner, half, (i) => timers.set(i), 'set')
    const batchMs = await together(owner, half, n, (i) => timers.set(i), 'set')
    const ticks = new Laps(TICKS)
    let expired = 0
    let bytes = 0
    ticks.mark()
    for (let tick = 1; tick <= TICKS; tick++) {
      clock.advanceSync(TICK_MS)
      const due = timers.start + tick * TICK_MS
      const page = await owner.load(due, 2 ** 31)
      for (let i = 0; i < page.size; i++) bytes += page.row(i).payload.length
      await owner.settle(due, page.size)
      expired += page.size
      ticks.mark()
    }
    const until = timers.start + TICKS * TICK_MS
    const left = indexesOf(n, (i) => timers.dueAt(i) >= until)
    const cancel = (at: number) => {
      const { namespace, kind: kindName, key } = timers.set(left[at]!)
      return { type: 'cancel', namespace, kind: kindName, key } as const
    }
    const middle = Math.floor(left.length / 2)
    const singleCancelMs = await separately(owner, middle, cancel, 'cancelled')
    const batchCancelMs = await together(owner, middle, left.length, cancel, 'cancelled')
    const remaining = await owner.store.countRows()
    return {
      metrics: {
        user: (process.cpuUsage().user - userBefore) / 1e6,
        add: (singleMs * 1e3) / half,
        'add batch': (batchMs * 1e3) / (n - half),
        cancel: (singleCancelMs * 1e3) / middle,
        'cancel batch': (batchCancelMs * 1e3) / (left.length - middle),
        'tick avg': ticks.averageMs(),
        'tick worst': ticks.worstMs(),
      },
      checks: { expired, bytes, cancelled: left.length, remaining },
      notes: [],
    }
  } finally {
    await subject.store.stop()
    subject.remove()
  }
}

type Make = (index: number) => Parameters<BenchOwner['write']>[0][number]

/** One call per timer, with a thousand in flight. */
async function separately(owner: BenchOwner, count: number, make: Make, outcome: string): Promise<number> {
  const operations = Array.from({ length: count }, (_, i) => [make(i)])
  let next = 0
  const caller = async (): Promise<void> => {
    while (next < count) {
      if ((await owner.write(operations[next++]!, outcome)) !== 1)
        throw new Error(`an operation did not have the outcome ${outcome}`)
    }
  }
  const from = performance.now()
  await Promise.all(Array.from({ length: IN_FLIGHT }, caller))
  return performance.now() - from
}

async function together(owner: BenchOwner, from: number, until: number, make: Make, outcome: string) {
  let ms = 0
  for (let i = from; i < until; i += BATCH) {
    const size = Math.min(BATCH, until - i)
    const operations = Array.from({ length: size }, (_, j) => make(i + j))
    const began = performance.now()
    const count = await owner.write(operations, outcome)
    ms += performance.now() - began
    if (count !== size) throw new Error(`${count} of ${size} operations had the outcome ${outcome}`)
  }
  return ms
}

function indexesOf(n: number, isWanted: (index: number) => boolean): number[] {
  const indexes: number[] = []
  for (let i = 0; i < n; i++) if (isWanted(i)) indexes.push(i)
  return indexes
}
