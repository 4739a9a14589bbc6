/**
 * One of the instances on a server. It sets timers at a steady rate and cancels a few. Its handlers take some time
 * and sometimes fail. It reports everything to the receiver. On its standard input, `drain` ends the setting of
 * timers, `stop` stops it cleanly, and a line of JSON is a command. The end of the input ends it at once. It reads
 * the time from the machine's monotonic clock: its wall clock may be wrong.
 */
import process from 'node:process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { CarillonError, openTimers, PartialError, timer, type TimerFiring, type TimersEvent } from 'carillon'
import { openStore } from 'carillon/store'
import { Random } from 'carillon/testing'
import type { Command } from './command.js'
import { machineMs, type Fired, type Line } from './report.js'
import { writeLine } from '../../write-line.js'
import { LIE_MS, ReportingStore } from './reporting-store.js'
import type { Task } from './task.js'
import { web } from '../web/caller.js'
import { readWeb } from '../web/read-web.js'
import { loadOf, type Work, workOf } from './work.js'

const TICK_MS = 200
/** With this many calls of `setMany` under way, a tick sets nothing, as a caller that waits would. */
const MAX_UNDER_WAY = 20
const MAX_HANDLER_MS = 40
const FAILURE_SHARE = 0.01
const CANCEL_SHARE = 0.02

const task = JSON.parse(process.argv[2]!) as Task
const retry = { attempts: task.attempts, backoff: '5ms..50ms' }
const one = timer<Work>('one', { retry })
const many = timer<Work>('many', { retry })
const random = new Random(task.seed)
const state = { isSetting: true }
let underWay = 0
let made = 0

const inner = await patiently(() => openStore(task.url))
const reporting = new ReportingStore(inner, task.plant, tell)
const timers = await patiently(() =>
  openTimers({
    store: reporting.store,
    engine: { ...task.engine },
    // The faults are planted. Warnings about them would hide real ones.
    logger: false,
    onEvent: (event) => {
      if (event.type === 'acquired') tell({ say: 'acquired', shard: event.shard, at: machineMs() })
      if (event.type === 'released' || event.type === 'lost') {
        reporting.letGo(event.shard)
        tell({ say: 'let-go', shard: event.shard, at: machineMs() })
      }
      if (event.type === 'store-trouble') tell({ say: 'trouble', code: codeOf(event.error) })
      tellEvent(event)
    },
  }),
)
if (task.handles !== false) handleAll()
await patiently(() => timers.start())
tell({ say: 'ready' })
createInterface({ input: process.stdin })
  .on('line', (word) => {
    if (word.startsWith('{')) void obey(JSON.parse(word) as Command)
    if (word === 'drain') state.isSetting = false
    if (word === 'stop') void stop()
  })
  .on('close', () => process.exit(1))
void keepSetting()

function handleAll(): void {
  timers.handle(one, (firing) => {
    const from = tellFired([firing])
    const working = workOf(workOfAttempt(firing))
    const until = machineMs()
    // Only in this case may an instance notice too late that its lease has ended.
    if (until - from > task.pace.leaseMs - (task.engine.leaseMarginMs ?? 1000))
      tell({ say: 'blocked', from, until })
    if (working === undefined) return end([firing])
    return working.then(() => end([firing]))
  })
  timers.handleMany(many, async (firings) => {
    tellFired(firings)
    if (random.chance(0.7)) await sleep(random.below(MAX_HANDLER_MS / 2))
    end(firings)
  })
  timers.handle(web, async (firing) => {
    const { key, payload, attempt, dueAt } = firing
    // A move of a timer that was attempted before keeps the due time of its occurrence, but not that of the row.
    const row = { key, version: payload.v, dueAt, rowDueAt: firing.firedAt - firing.lateness }
    const at = machineMs()
    tell({ say: 'web-fired', ...row, attempt, startedAt: startOf(firing, at), at })
    await sleep(payload.waitMs ?? 0)
    const isDone = !random.chance(FAILURE_SHARE)
    tell({ say: 'web-ended', ...row, isDone })
    if (!isDone) throw new Error('chaos')
  })
}

/**
 * Only a first attempt blocks for longer than the lease. Otherwise every process that starts the timer would lose its
 * shards, until the timer has no attempts left.
 */
function workOfAttempt({ payload, attempt }: TimerFiring<Work>): Work {
  return attempt > 1 && (payload.cpuMs ?? 0) > task.pace.leaseMs ? {} : payload
}

/** How many to set follows from the clock, so that a slow call does not slow the others down. */
async function keepSetting(): Promise<void> {
  const perTick = (task.rate * TICK_MS) / 1000
  let owed = 0
  while (state.isSetting) {
    owed += perTick
    const count = Math.floor(owed)
    owed -= count
    if (underWay < MAX_UNDER_WAY && count > 0) void set(random.chance(0.5) ? one : many, shortWork(count))
    const others = task.rate > 0 ? loadOf(task.loads, task.pace, TICK_MS / 1000, random) : []
    if (others.length > 0) void set(one, others)
    await sleep(TICK_MS)
  }
}

async function obey(command: Command): Promise<void> {
  const { number } = command
  switch (command.do) {
    case 'set': {
      const rows = command.rows.map(({ key, at, work }) => ({ key, at, payload: work }))
      await setRows(one, rows)
      tell({ say: 'answer', number, text: 'set' })
      return
    }
    case 'cancel': {
      const answers = await Promise.all(command.keys.map((key) => cancel(one, key)))
      tell({ say: 'answer', number, text: answers.join(' ') })
      return
    }
    case 'look':
      tell({ say: 'answer', number, text: JSON.stringify(await readWeb(timers, command.keys)) })
      return
  }
}

function shortWork(count: number): readonly Work[] {
  return Array.from({ length: count }, () =>
    random.chance(0.3) ? {} : { waitMs: random.below(MAX_HANDLER_MS) },
  )
}

async function set(kind: typeof one, work: readonly Work[]): Promise<void> {
  await setRows(
    kind,
    work.map((payload) => ({ key: `${kind.name}-${task.name}-${++made}`, at: due(), payload })),
  )
}

async function setRows(
  kind: typeof one,
  rows: readonly { readonly key: string; readonly at: number; readonly payload: Work }[],
): Promise<void> {
  const keys = rows.map(({ key }) => key)
  tell({ say: 'set', timers: rows.map(({ key, at }) => [key, at]) })
  if (task.plant === 'early-ack') {
    tell({ say: 'acked', keys })
    await sleep(LIE_MS)
  }
  underWay++
  try {
    await timers.setMany(kind, rows)
    if (task.plant !== 'early-ack') tell({ say: 'acked', keys })
    const cancelShare = task.rate > 0 ? CANCEL_SHARE : 0
    void Promise.all(keys.filter(() => random.chance(cancelShare)).map((key) => cancel(kind, key)))
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    const acked = error instanceof PartialError ? ackedOf(error) : []
    if (acked.length > 0) tell({ say: 'acked', keys: acked })
    tell({ say: 'unsure', keys: keys.filter((key) => !acked.includes(key)) })
  } finally {
    underWay--
  }
}

function ackedOf(error: PartialError): string[] {
  return error.rows.filter((row) => row.error === undefined).map(({ key }) => key)
}

async function cancel(kind: typeof one, key: string): Promise<string> {
  tell({ say: 'cancel', key })
  try {
    const answer = await timers.cancel(kind, key)
    if (answer === 'cancelled') tell({ say: 'cancelled', key, at: machineMs() })
    return answer
  } catch (error) {
    // The owner may be unreachable. Then nobody knows whether the timer was cancelled.
    if (!(error instanceof CarillonError)) throw error
    return error.code
  }
}

/** Most are due soon, some at once, some are overdue, and some are due so late that they must be loaded. */
function due(): number {
  const now = Math.floor(machineMs() + task.epochMs)
  if (random.chance(0.1)) return now
  if (random.chance(0.05)) return now - random.below(2000)
  return now + random.below(random.chance(0.3) ? 2500 : 1000)
}

async function stop(): Promise<void> {
  state.isSetting = false
  await timers.stop()
  await inner.stop()
  process.exit(0)
}

/** Reports the start of these firings. Returns when that was. */
function tellFired(firings: readonly TimerFiring<Work>[]): number {
  const at = machineMs()
  const fired = firings.map((firing): Fired => {
    const { key, id, attempt, dueAt } = firing
    const shard = reporting.delivered(key)
    return {
      key,
      id,
      attempt,
      dueAt,
      startedAt: startOf(firing, at),
      at,
      ...(shard !== undefined && { shard }),
    }
  })
  tell({ say: 'fired', firings: fired })
  return at
}

/** When the engine started a firing, if its handler is called now. */
function startOf({ firedAt }: { readonly firedAt: number }, at: number): number {
  // The engine's clock may have been set since then. If so, only the time of the handler is known.
  return at - Math.min(Math.max(0, Date.now() - firedAt), task.pace.leaseMs)
}

/** Reports how the attempts end. Throws for a failure, so that they are retried. */
function end(firings: readonly TimerFiring<Work>[]): void {
  const isDone = task.rate === 0 || !random.chance(FAILURE_SHARE)
  const attempts = firings.map(({ key, attempt }) => [key, attempt] as const)
  tell({ say: 'ended', attempts, isDone, at: machineMs() })
  if (!isDone) throw new Error('chaos')
}

/** Reports rare events that show a problem. */
function tellEvent(event: TimersEvent): void {
  const at = machineMs()
  const { type } = event
  if (type === 'clock-off') tell({ say: 'event', type, text: `off by ${event.offsetMs.toFixed(1)} ms`, at })
  if (type === 'lease-lost') tell({ say: 'event', type, text: event.key, at })
  if (type === 'lease-ahead') tell({ say: 'event', type, text: `${event.count} timers`, at })
  if (type === 'stalled' || type === 'lost')
    tell({ say: 'event', type, shard: event.shard, text: event.reason, at })
  if (type === 'released' || type === 'unowned' || type === 'level-ahead')
    tell({ say: 'event', type, shard: event.shard, text: '', at })
}

/** Repeats an attempt: the server may be down for a moment. */
async function patiently<Answer>(attempt: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error
      tell({ say: 'trouble', code: error.code })
      await sleep(100)
    }
  }
}

function codeOf(error: Error): string {
  return error instanceof CarillonError ? error.code : error.name
}

function tell(line: Line): void {
  writeLine(line)
}
