import process from 'node:process'
import { openTimers, timer } from 'carillon'
import { IdleTimer } from '../engine/idle-timer.js'
import { LateHistogram } from './late-histogram.js'
import { digits, heading, line, percent } from './print.js'

const WARM_UP_MS = 2000
const SET_AT_ONCE = 10_000

/** Lateness at the handler with a store in memory, with and without the fine clock. */
export async function precision(seconds: number): Promise<void> {
  heading('openTimers on memory:, lateness at the handler, p50 / p99 in µs')
  const idle = new IdleTimer()
  for (const rate of [1000, 100_000]) {
    for (const way of ['handleMany', 'handle'] as const) {
      for (const each of ['normal', 'fine'] as const) {
        idle.begin()
        const { late, cpu } = await measure(each, rate, way, seconds)
        const text = `${late.percentile(0.5)} / ${late.percentile(0.99)}`
        line(`${rate.toLocaleString('en')} a second, ${way}, ${each}`, text, `CPU ${percent(cpu)}`)
      }
    }
  }
  const { p99, max } = await idle.end()
  line('a bare timer of 1 ms in an idle process', `p99 ${digits(p99 * 1000)}`, `max ${digits(max * 1000)} µs`)
}

async function measure(
  each: 'normal' | 'fine',
  rate: number,
  way: 'handle' | 'handleMany',
  seconds: number,
): Promise<{ readonly late: LateHistogram; readonly cpu: number }> {
  const kind = timer('late', { concurrency: 1_000_000 })
  const timers = await openTimers({ store: 'memory:', precision: each, logger: false })
  const now = fineClock()
  const count = rate * (seconds + WARM_UP_MS / 1000)
  const begin = Math.ceil(Date.now() + 1000 + count * 0.008)
  const from = begin + WARM_UP_MS
  for (let at = 0; at < count; at += SET_AT_ONCE) {
    const length = Math.min(SET_AT_ONCE, count - at)
    await timers.setMany(
      kind,
      Array.from({ length }, (_, i) => ({
        key: `k${at + i}`,
        at: Math.floor(begin + ((at + i) * 1000) / rate),
      })),
    )
  }
  if (Date.now() > begin) throw new Error(`setting ${count} timers took longer than planned`)
  const late = new LateHistogram()
  let left = rate * seconds
  let cpu: NodeJS.CpuUsage | undefined
  let finish = (): void => undefined
  const finished = new Promise<void>((resolve) => (finish = resolve))
  const take = (dueAt: number, at: number): void => {
    if (dueAt < from) return
    cpu ??= process.cpuUsage()
    late.add(at - dueAt)
    if (--left === 0) finish()
  }
  if (way === 'handle') timers.handle(kind, ({ dueAt }) => take(dueAt, now()))
  else {
    timers.handleMany(kind, (firings) => {
      const at = now()
      for (const { dueAt } of firings) take(dueAt, at)
    })
  }
  await timers.start()
  await finished
  const { user, system } = process.cpuUsage(cpu)
  await timers.stop()
  return { late, cpu: (user + system) / 1e6 / seconds }
}

/** Wall time with fractions. `Date.now` rounds down and is never ahead, so the largest of many differences is right. */
function fineClock(): () => number {
  let offset = -Infinity
  for (let i = 0; i < 200_000; i++) offset = Math.max(offset, Date.now() - performance.now())
  return () => offset + performance.now()
}
