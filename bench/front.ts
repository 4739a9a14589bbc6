import { openTimers } from 'carillon'
import { openStore, type SetOperation } from 'carillon/store'
import { measureBurst } from './engine/burst.js'
import { fill } from './engine/filled.js'
import { lower, type Measurement, type Metric } from './harness/bench.js'
import { runBench } from './harness/run.js'
import { Folder } from './stores/folder.js'
import { BenchOwner } from './stores/owner.js'

/**
 * npm run bench front: the cost of `openTimers` over the layers below it, on file. Setting: `setMany` with 10,000 rows per
 * call, against the store's own `write` with as many prepared operations. Firing: a backlog of timers through `handleMany`
 * with an empty function, against the engine's bare `deliver`.
 */
const metrics: readonly Metric[] = [
  lower('set', 'µs', 'one timer, 10,000 per call, each call awaited'),
  lower('fire', 'µs', 'one timer of a backlog: loaded, fired and settled'),
]

const BATCH = 10_000
const WARM_UP = 50_000

await runBench({
  name: 'front',
  about: 'timers on file: set and fired with and without `openTimers`',
  defaultN: 1_000_000,
  leastN: 10_000,
  defaultRounds: 3,
  metrics,
  candidates: [
    {
      name: 'front',
      about: 'openTimers: setMany, handleMany',
      measure: async ({ n }) => {
        await setThroughFront(WARM_UP)
        return await measured(n, await setThroughFront(n), 'handleMany')
      },
    },
    {
      name: 'beneath',
      about: "the store's write, the engine's deliver",
      measure: async ({ n }) => {
        await writeToStore(WARM_UP)
        return await measured(n, await writeToStore(n), 'deliver')
      },
    },
  ],
})

async function measured(n: number, setMs: number, burst: string): Promise<Measurement> {
  const fired = await measureBurst(n, burst)
  return {
    metrics: { set: (setMs * 1000) / n, fire: 1000 / fired.metrics['settled']! },
    checks: { fired: fired.checks['fired']! },
    notes: [],
  }
}

function dueAtFrom(start: number, n: number): (index: number) => number {
  return (index) => start + 3_600_000 + Math.floor((((index * 7919) % n) * 3_600_000) / n)
}

async function setThroughFront(n: number): Promise<number> {
  const folder = new Folder()
  const timers = await openTimers({ store: `file:${folder.path}` })
  try {
    return await fill(timers, n, dueAtFrom(Date.now(), n))
  } finally {
    await timers.stop()
    folder.remove()
  }
}

/** Writes the same timers as operations that are prepared before the measurement. */
async function writeToStore(n: number): Promise<number> {
  const folder = new Folder()
  const store = await openStore(`file:${folder.path}`)
  const owner = await BenchOwner.claim(store)
  const encoder = new TextEncoder()
  const start = Date.now()
  const dueAt = dueAtFrom(start, n)
  try {
    let ms = 0
    for (let first = 0; first < n; first += BATCH) {
      const operations = Array.from({ length: Math.min(BATCH, n - first) }, (_, i): SetOperation => {
        const order = first + i
        return {
          type: 'set',
          namespace: 'default',
          kind: 'bench',
          key: `bench-timer-${String(order).padStart(8, '0')}`,
          identity: order + 1,
          createdAt: start,
          payload: encoder.encode(JSON.stringify({ order })),
          tags: [],
          details: '',
          dueAt: dueAt(order),
          position: dueAt(order),
          attempt: 0,
          occurrence: 0,
        }
      })
      const from = performance.now()
      await owner.write(operations, 'set')
      ms += performance.now() - from
    }
    return ms
  } finally {
    await owner.release()
    await store.stop()
    folder.remove()
  }
}
