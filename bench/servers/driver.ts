/**
 * Runs one candidate in its own process: ours under this Node, or a peer under a newer one. It imports a module, drives it
 * through a task, and sends its parent a message when the measurement begins and ends. At both moments the parent reads the
 * server's counters and replies. The driver waits for the reply, so that nothing happens meanwhile.
 */
import { once } from 'node:events'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DriverMessage, DriverTask } from './task.js'
import { type Row, rowOf, type Subject, type SubjectModule } from './subject.js'

const HOUR_MS = 3_600_000
const TRIAL = 2000
const MIN_WARM_UP = 20_000
const WARM_UP_MS = 2000
/** How long to wait for late timers after the last due time. */
const PATIENCE_MS = 30_000

const task = JSON.parse(process.argv[2]!) as DriverTask
const subjects = (await import(task.module)) as SubjectModule
if (task.what === 'burst') await warmUp(Math.max(task.n, MIN_WARM_UP))
const subject = await subjects.open(task.url)
await (task.what === 'burst' ? burst(task.n, task.future) : lateness(task.rate, task.seconds))
await subject.stop()
process.exit(0)

/**
 * Runs a whole burst as a warm-up, so that the measured one is the second: code is compiled and the heap has grown, as in a
 * process that has run for a while.
 */
async function warmUp(count: number): Promise<void> {
  const warm = await subjects.open(task.url)
  await addAll(warm, count, 'warm-later', (i) => Date.now() + 3 * HOUR_MS + i)
  const dueAt = Date.now()
  await addAll(warm, count, 'warm', () => dueAt)
  await warm.ready?.()
  await warm.work(() => undefined)
  await warm.settled(count)
  await warm.stop()
}

/** Adds timers for later and due timers, then works until the due ones are settled. */
async function burst(n: number, future: number): Promise<void> {
  const addMs = await addAll(subject, n, 'later', (i) => Date.now() + HOUR_MS + (i % HOUR_MS))
  for (let i = n; i < future; i += n) {
    await addAll(subject, Math.min(n, future - i), `later-${i}`, (j) => Date.now() + HOUR_MS + (j % HOUR_MS))
  }
  const dueAt = Date.now()
  await addAll(subject, n, 'due', () => dueAt)
  await subject.ready?.()
  const seen = new Uint8Array(n)
  let repeats = 0
  await told({ say: 'begin' })
  const cpu = process.cpuUsage()
  const from = performance.now()
  await subject.work((key, order) => {
    if (!key.startsWith('due-')) throw new Error(`${key} is not due`)
    if (seen[order]! > 0) repeats++
    seen[order] = 1
  })
  await subject.settled(n)
  const ms = performance.now() - from
  const { user, system } = process.cpuUsage(cpu)
  const fired = seen.reduce((sum, one) => sum + one, 0)
  await told({ say: 'end', fired, repeats, cpuUs: user + system, figures: { ms, addMs } })
}

/** Adds a steady load in advance, and starts to work before the first timer is due. */
async function lateness(rate: number, seconds: number): Promise<void> {
  const now = fineClock()
  const trialMs = await addAll(subject, TRIAL, 'trial', () => Date.now() + HOUR_MS)
  const n = Math.floor(rate * (seconds + WARM_UP_MS / 1000))
  const begin = Math.ceil(Date.now() + 3000 + 2 * n * (trialMs / TRIAL))
  await addAll(subject, n, 'due', (i) => Math.floor(begin + (i * 1000) / rate))
  if (Date.now() > begin) throw new Error(`adding ${n} timers took longer than planned`)
  await subject.ready?.()
  const dueAt = (order: number): number => Math.floor(begin + (order * 1000) / rate)
  const measureFrom = begin + WARM_UP_MS
  const late: number[] = []
  const count = { fired: 0 }
  await subject.work((key, order) => {
    if (!key.startsWith('due-')) throw new Error(`${key} is not due`)
    count.fired++
    if (dueAt(order) >= measureFrom) late.push(now() - dueAt(order))
  })
  await sleep(Math.max(0, begin - Date.now()))
  await told({ say: 'begin' })
  const [cpu, firedBefore] = [process.cpuUsage(), count.fired]
  const patience = begin + WARM_UP_MS + seconds * 1000 + PATIENCE_MS
  while (count.fired < n && Date.now() < patience) await sleep(20)
  const { user, system } = process.cpuUsage(cpu)
  late.sort((a, b) => a - b)
  const at = (share: number): number => late[Math.min(late.length - 1, Math.floor(late.length * share))] ?? 0
  if (at(0) < -1) throw new Error(`a timer was early by ${-at(0)} ms`)
  await told({
    say: 'end',
    fired: count.fired - firedBefore,
    repeats: 0,
    cpuUs: user + system,
    figures: { p50: at(0.5), p99: at(0.99), max: at(1), missing: n - count.fired },
  })
}

/** Adds rows in the batch size that suits the subject. Returns how long that took. Creating the rows is not timed. */
async function addAll(
  to: Subject,
  n: number,
  prefix: string,
  dueAt: (order: number) => number,
): Promise<number> {
  const batches: Row[][] = []
  for (let i = 0; i < n; i += to.batch) {
    batches.push(
      Array.from({ length: Math.min(to.batch, n - i) }, (_, j) => rowOf(i + j, prefix, dueAt(i + j))),
    )
  }
  const from = performance.now()
  await Promise.all(
    Array.from({ length: to.inFlight }, async () => {
      for (let rows = batches.shift(); rows !== undefined; rows = batches.shift()) await to.add(rows)
    }),
  )
  return performance.now() - from
}

/** Wall time with fractions. `Date.now` rounds down, so the largest of many differences is the right one. */
function fineClock(): () => number {
  let offset = -Infinity
  for (let i = 0; i < 200_000; i++) offset = Math.max(offset, Date.now() - performance.now())
  return () => offset + performance.now()
}

async function told(message: DriverMessage): Promise<void> {
  const heard = once(process, 'message')
  process.send!(message)
  await heard
}
