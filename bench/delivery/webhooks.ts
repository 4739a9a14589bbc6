import process from 'node:process'
import { randomBytes } from 'node:crypto'
import { openTimers, timer, webhook } from 'carillon'
import type { Measurement } from '../harness/bench.js'
import { collect } from '../harness/memory.js'
import { fill } from '../engine/filled.js'
import { Folder } from '../stores/folder.js'
import { Receiver } from './receiver.js'

const secret = `whsec_${randomBytes(32).toString('base64')}`
const kind = timer<{ order: number }>('bench')

/** Timers on file that are due at the start: loaded, signed, sent, answered and settled. */
export async function measureWebhooks(n: number, concurrency: number): Promise<Measurement> {
  const receiver = await Receiver.start()
  const folder = new Folder()
  let settled = 0
  let reached = (): void => undefined
  const timers = await openTimers({
    store: `file:${folder.path}`,
    onEvent: (event) => {
      if (event.type !== 'settled') return
      settled += event.count
      if (settled >= wanted) reached()
    },
  })
  let wanted = 0
  /** Fires `count` stored timers at once. Returns how long it took, and the processor time. */
  const burst = async (count: number, first: number): Promise<{ ms: number; cpuUs: number }> => {
    await timers.pause(kind)
    const now = Date.now()
    await fill(timers, count, () => now, first)
    wanted = settled + count
    const all = new Promise<void>((resolve) => (reached = resolve))
    const cpu = process.cpuUsage()
    const from = performance.now()
    await timers.resume(kind)
    await all
    const { user, system } = process.cpuUsage(cpu)
    return { ms: performance.now() - from, cpuUs: user + system }
  }
  try {
    timers.deliver(kind, webhook(receiver.url, { secret, concurrency }))
    await timers.start()
    await burst(Math.min(n, 5000), 50_000_000)
    const before = await receiver.count()
    const { ms, cpuUs } = await burst(n, 0)
    const received = (await receiver.count()) - before
    return { metrics: { sent: n / ms, CPU: cpuUs / n }, checks: { received }, notes: [] }
  } finally {
    await timers.stop()
    receiver.stop()
    folder.remove()
  }
}

/** The memory for `n` due timers whose target never answers. */
export async function measureStalled(n: number): Promise<Measurement> {
  const receiver = await Receiver.start()
  const folder = new Folder()
  const timers = await openTimers({ store: `file:${folder.path}`, engine: { stopMs: 1000 } })
  try {
    timers.deliver(kind, webhook(`${receiver.url}/stalled`, { secret, timeout: '10m' }))
    await timers.start()
    collect()
    const before = process.memoryUsage.rss()
    const now = Date.now()
    await fill(timers, n, () => now)
    await new Promise((resolve) => {
      setTimeout(resolve, 10_000)
    })
    collect()
    return {
      metrics: { held: (process.memoryUsage.rss() - before) / 2 ** 20 },
      checks: {},
      notes: [`the target received ${await receiver.count()} requests and answered none`],
    }
  } finally {
    await timers.stop()
    receiver.stop()
    folder.remove()
  }
}
