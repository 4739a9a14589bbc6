import process from 'node:process'
import { type EngineEvent, OwnerEngine } from 'carillon/engine'
import { openStore, type Store } from 'carillon/store'
import { systemClock } from 'carillon/time'
import type { Timers } from 'carillon'
import { type Bench, lower, type Measurement, type Metric, type NodeCandidate } from '../harness/bench.js'
import { collect } from '../harness/memory.js'
import { filledFolder, kind, openCounted } from './filled.js'

const SPREAD_MS = 60_000

export function higher(name: string, unit: string, means: string): Metric {
  return { name, unit, means, better: 'higher' }
}

const metrics: readonly Metric[] = [
  higher('settled', 'k/s', 'timers fired and settled per second, from `start` until the store is empty'),
  lower('CPU', 'µs', 'processor time of the whole process per fired timer'),
  higher('set', 'k/s', 'timers set per second with `setMany`, 10,000 per call'),
  lower('set CPU', 'µs', 'processor time per timer set, including the creation of its row'),
  lower('resident', 'MB', 'resident set of the process at the end'),
]

/** A million timers on file that became due within the last minute when the engine starts. */
export const burst: Bench = {
  name: 'engine burst',
  about: 'timers on file that are all due when the engine starts: fired and settled',
  defaultN: 1_000_000,
  leastN: 10_000,
  defaultRounds: 3,
  metrics,
  candidates: [
    handled('handleMany', 'handleMany with an empty function', (timers, count) => {
      timers.handleMany(kind, (firings) => count(firings.length))
    }),
    handled('handle-sync', 'handle with an empty function', (timers, count) => {
      timers.handle(kind, () => count(1))
    }),
    handled('handle-async', 'handle with an empty async function', (timers, count) => {
      timers.handle(kind, async () => count(1))
    }),
    {
      name: 'deliver',
      about: 'the engine alone: its `deliver` reports every firing as done immediately',
      measure: async ({ n }) => await measure(n, engineAlone),
    },
  ],
}

type Burst = (path: Opened) => Promise<void>

interface Opened {
  readonly folder: Awaited<ReturnType<typeof filledFolder>>['folder']
  readonly n: number
  readonly count: (fired: number) => void
  /** Called when everything is open. The measurement starts. */
  readonly begin: () => void
  /** Called when all timers are settled. */
  readonly end: () => void
}

function handled(
  name: string,
  about: string,
  handle: (timers: Timers, count: (fired: number) => void) => void,
): NodeCandidate {
  const run: Burst = async ({ folder, n, count, begin, end }) => {
    const { timers, settled } = await openCounted(folder)
    handle(timers, count)
    begin()
    await timers.start()
    await settled(n)
    end()
    await timers.stop()
  }
  return { name, about, measure: async ({ n }) => await measure(n, run) }
}

const engineAlone: Burst = async ({ folder, n, count, begin, end }) => {
  const store: Store = await openStore(`file:${folder.path}`)
  let settled = 0
  await new Promise<void>((resolve, reject) => {
    const engine = new OwnerEngine({
      store,
      clock: systemClock,
      holdsAll: true,
      deliver: (firings) => {
        count(firings.length)
        for (const firing of firings) firing.report({ type: 'done' })
      },
      onEvent: (event: EngineEvent) => {
        if (event.type !== 'settled') return
        settled += event.count
        if (settled < n) return
        end()
        engine.stop().then(resolve, reject)
      },
    })
    engine
      .open()
      .then(() => {
        begin()
        return engine.start()
      })
      .catch(reject)
  })
  await store.stop()
}

/** Sets the timers, fires them, opens the store again and checks that no timer is left. */
export async function measureBurst(n: number, name: string): Promise<Measurement> {
  const candidate = burst.candidates.find((each) => each.name === name)
  if (candidate === undefined || !('measure' in candidate)) throw new Error(`no burst '${name}'`)
  return await candidate.measure({ n, seed: 1 })
}

async function measure(n: number, run: Burst): Promise<Measurement> {
  const from = Date.now() - SPREAD_MS
  const dueAt = (index: number): number => from + Math.floor((index * SPREAD_MS) / n)
  const { folder, setMs, setCpuUs } = await filledFolder(n, dueAt)
  try {
    let fired = 0
    let beganAt = 0
    let cpu = process.cpuUsage()
    let ms = 0
    collect()
    await run({
      folder,
      n,
      count: (more) => {
        fired += more
      },
      begin: () => {
        cpu = process.cpuUsage()
        beganAt = performance.now()
      },
      end: () => {
        ms = performance.now() - beganAt
        cpu = process.cpuUsage(cpu)
      },
    })
    const residentMb = process.memoryUsage.rss() / 2 ** 20
    const store = await openStore(`file:${folder.path}`)
    const left = await store.countRows()
    const { settled } = await store.counts()
    await store.stop()
    if (left !== 0 || settled !== n) throw new Error(`${left} rows are left, ${settled} of ${n} settled`)
    return {
      metrics: {
        settled: n / ms,
        CPU: (cpu.user + cpu.system) / n,
        set: n / setMs,
        'set CPU': setCpuUs / n,
        resident: residentMb,
      },
      checks: { left, fired },
      notes: [],
    }
  } finally {
    folder.remove()
  }
}
