import { digits, heading, line, percent } from './print.js'
import { pause, startPool } from './pool.js'

const PENDING = 100_000
const WARM_UP_MS = 1500

/** Fire and set again, as fast as the workers can: their timers are always overdue. */
export async function throughput(seconds: number): Promise<void> {
  heading(`fire and set again, ${PENDING.toLocaleString('en')} pending in each worker`)
  const one = await measure(1, seconds)
  const two = await measure(2, seconds)
  line('one worker', `${digits(one.perSecond / 1e6)} M/s`, `core wait ${percent(one.waited)}`)
  line(
    'two workers',
    `${digits(two.perSecond / 1e6)} M/s`,
    `${digits(two.perSecond / one.perSecond)} × one (goal 1.7), core wait ${percent(two.waited)}`,
  )
}

async function measure(
  workers: number,
  seconds: number,
): Promise<{ readonly perSecond: number; readonly waited: number }> {
  const { pool, shared } = await startPool(workers)
  // One after the other: a timer goes to the worker that has fewer.
  for (let worker = 1; worker <= workers; worker++) {
    pool.set('keepFull', 0, PENDING)
    while (pool.stats().workers.filter(({ scheduled }) => scheduled >= PENDING * 0.9).length < worker)
      await pause(10)
  }
  await pause(WARM_UP_MS)
  const firedBy = (): number => shared.fired.reduce((sum, fired) => sum + fired, 0)
  const waits = await readWaits(workers)
  const [fired, began] = [firedBy(), performance.now()]
  await pause(seconds * 1000)
  const perSecond = ((firedBy() - fired) * 1000) / (performance.now() - began)
  const waited = waits()
  await pool.stop()
  return { perSecond, waited }
}

/** How long all threads of this process wait for a core, by the scheduler of Linux; 0 elsewhere. */
async function readWaits(workers: number): Promise<() => number> {
  const { readdirSync, readFileSync } = await import('node:fs')
  const read = (): Map<string, readonly [ran: number, waited: number]> => {
    try {
      return new Map(
        readdirSync('/proc/self/task').map((task) => {
          const [ran = 0, waited = 0] = readFileSync(`/proc/self/task/${task}/schedstat`, 'utf8')
            .split(' ')
            .map(Number)
          return [task, [ran, waited]]
        }),
      )
    } catch {
      return new Map()
    }
  }
  const before = read()
  return () => {
    const busiest = [...read()]
      .map(([task, [ran, waited]]) => {
        const [ranBefore, waitedBefore] = before.get(task) ?? [0, 0]
        return { ran: ran - ranBefore, waited: waited - waitedBefore }
      })
      .toSorted((a, b) => b.ran - a.ran)
      .slice(0, workers)
    const ran = busiest.reduce((sum, each) => sum + each.ran, 0)
    const waited = busiest.reduce((sum, each) => sum + each.waited, 0)
    return ran === 0 ? 0 : waited / (ran + waited)
  }
}
