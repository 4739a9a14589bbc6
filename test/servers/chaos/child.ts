/**
 * One of the instances on a server: it sets timers at a steady rate, cancels a few, handles whatever comes its way
 * by functions that take their time and sometimes fail, and tells the receiver of all of it. `drain` on its
 * standard input ends the setting, `stop` ends it in good order, and the end of the input ends it at once.
 */
import process from 'node:process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { CarillonError, openTimers, PartialError, timer, type TimerFiring } from 'carillon'
import { openStore } from 'carillon/store'
import { Random } from 'carillon/testing'
import { machineMs, type Fired, type Line } from './report.js'
import { tellLine } from '../../told-line.js'
import { LIE_MS, ToldStore } from './told-store.js'
import type { Task } from './task.js'

const TICK_MS = 200
/** Calls of `setMany` under way; beyond them a tick sets nothing, as a caller that waits would. */
const MOST_UNDER_WAY = 20
const LONGEST_HANDLER_MS = 40
const FAILURE_SHARE = 0.01
const CANCEL_SHARE = 0.02
const retry = { attempts: 1000, backoff: '5ms..50ms' }
const one = timer<string>('one', { retry })
const many = timer<string>('many', { retry })

const task = JSON.parse(process.argv[2]!) as Task
const random = new Random(task.seed)
const state = { isSetting: true }
let underWay = 0
let made = 0

const inner = await patiently(() => openStore(task.url))
const told = new ToldStore(inner, task.plant, tell)
const timers = await patiently(() =>
  openTimers({
    store: told.store,
    engine: { ...task.engine },
    onEvent: (event) => {
      if (event.type === 'acquired') tell({ say: 'acquired', shard: event.shard, at: machineMs() })
      if (event.type === 'released' || event.type === 'lost') {
        told.letGo(event.shard)
        tell({ say: 'let-go', shard: event.shard, at: machineMs() })
      }
      if (event.type === 'store-trouble') tell({ say: 'trouble', code: codeOf(event.error) })
    },
  }),
)
timers.handle(one, (firing) => {
  tellFired([firing])
  if (random.chance(0.3)) return end([firing])
  return sleep(random.below(LONGEST_HANDLER_MS)).then(() => end([firing]))
})
timers.handleMany(many, async (firings) => {
  tellFired(firings)
  if (random.chance(0.7)) await sleep(random.below(LONGEST_HANDLER_MS / 2))
  end(firings)
})
await patiently(() => timers.start())
tell({ say: 'ready' })
createInterface({ input: process.stdin })
  .on('line', (word) => {
    if (word === 'drain') state.isSetting = false
    if (word === 'stop') void stop()
  })
  .on('close', () => process.exit(1))
void keepSetting()

/** By the clock, so that a slow call does not slow the others down. */
async function keepSetting(): Promise<void> {
  const perTick = (task.rate * TICK_MS) / 1000
  let owed = 0
  while (state.isSetting) {
    owed += perTick
    const count = Math.floor(owed)
    owed -= count
    if (underWay < MOST_UNDER_WAY && count > 0) void set(count)
    await sleep(TICK_MS)
  }
}

async function set(count: number): Promise<void> {
  const kind = random.chance(0.5) ? one : many
  const rows = Array.from({ length: count }, () => {
    const key = `${kind.name}-${task.name}-${++made}`
    return { key, at: due(), payload: key }
  })
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
    void Promise.all(keys.filter(() => random.chance(CANCEL_SHARE)).map((key) => cancel(kind, key)))
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

async function cancel(kind: typeof one, key: string): Promise<void> {
  tell({ say: 'cancel', key })
  try {
    const answer = await timers.cancel(kind, key)
    if (answer === 'cancelled') tell({ say: 'cancelled', key, at: machineMs() })
  } catch (error) {
    // Its owner may be away; whether it was cancelled is then not known.
    if (!(error instanceof CarillonError)) throw error
  }
}

/** Mostly soon; some at once, some overdue already, some so late that they have to be loaded. */
function due(): number {
  const now = Date.now()
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

function tellFired(firings: readonly TimerFiring<string>[]): void {
  const at = machineMs()
  const now = Date.now()
  const fired = firings.map((firing): Fired => {
    const { key, id, attempt, dueAt, firedAt } = firing
    told.delivered(key)
    return { key, id, attempt, dueAt, lateMs: now - dueAt, startedAt: at - (now - firedAt), at }
  })
  tell({ say: 'fired', firings: fired })
}

/** Tells how they end; a failure is thrown, to be tried again. */
function end(firings: readonly TimerFiring<string>[]): void {
  const isDone = !random.chance(FAILURE_SHARE)
  tell({ say: 'ended', keys: firings.map(({ key }) => key), isDone })
  if (!isDone) throw new Error('chaos')
}

/** The server may just be away. */
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
  tellLine(line)
}
