/**
 * The one that gets killed: timers on a folder, set as fast as a loop of small batches can, handled by functions
 * that take their time and sometimes fail. It tells the receiver what was acknowledged, delivered and settled.
 * Given `drain` it sets nothing and ends when nothing is left. With `early-ack` or `early-settled` it lies: that
 * must be noticed.
 */
import { writeSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { openTimers, timer, TimerFiring } from 'carillon'
import { openStore, type Fence, type Settlement, type Store } from 'carillon/store'
import { Dice } from '../../store/chaos/dice.js'
import type { ChaosSettings, Fired, Line } from './report.js'

const LONGEST_HANDLER_MS = 40
const LONGEST_DRAIN_MS = 60_000
const retry = { attempts: 1000, backoff: '5ms..50ms' }
const one = timer<string>('one', { retry })
const many = timer<string>('many', { retry })

const [folder = '', round = '1', seed = '1', what = ''] = process.argv.slice(2)
const dice = new Dice(Number(seed) * 1000 + Number(round))
const settings: ChaosSettings = {
  strategy: dice.chance(0.75) ? 'preload' : 'lookahead',
  windowMs: dice.chance(0.5) ? 120_000 : 300,
  settleMs: [50, 200, 1000][dice.below(3)]!,
  settleCount: dice.chance(0.5) ? 10_000 : 200,
  carryAfterMs: dice.chance(0.3) ? 20 : 5000,
}

const settable: string[] = []
let made = 0

const from = performance.now()
const store = await openStore(`file:${folder}`)
const timers = await openTimers({
  store: told(store),
  // The lease of the one before is over soon, so that the next need not wait.
  engine: { ...settings, minWindowMs: 100, leaseMs: 400, leaseMarginMs: 50, acquireMs: 20, retryMs: 20 },
})
timers.handle(one, (firing) => {
  tell({ say: 'fired', firings: [fired(firing)] })
  if (dice.chance(0.3)) return end([firing], dice.chance(0.02))
  return sleep(dice.below(LONGEST_HANDLER_MS)).then(() => end([firing], dice.chance(0.02)))
})
timers.handleMany(many, async (firings) => {
  tell({ say: 'fired', firings: firings.map(fired) })
  if (dice.chance(0.7)) await sleep(dice.below(LONGEST_HANDLER_MS / 2))
  end(firings, dice.chance(0.02))
})
await timers.start()
tell({ say: 'ready', openMs: performance.now() - from, settings })
if (what === 'drain') await drain()
else await Promise.all([set(), set(), cancel()])

/** Batches one after the other, each acknowledged before the next; two such loops run at once. */
async function set(): Promise<void> {
  for (;;) {
    const kind = dice.chance(0.5) ? one : many
    const rows = Array.from({ length: 1 + dice.below(dice.chance(0.2) ? 100 : 10) }, () => ({
      key: `${kind.name}-${round}-${++made}`,
      at: due(),
      payload: `${round}/${made}`,
    }))
    const keys = rows.map(({ key }) => key)
    tell({ say: 'set', timers: rows.map(({ key, at }) => [key, at]) })
    if (what === 'early-ack') tell({ say: 'acked', keys })
    await timers.setMany(kind, rows)
    if (what !== 'early-ack') tell({ say: 'acked', keys })
    if (settable.length < 1000) settable.push(keys[0]!)
    await sleep(1 + dice.below(8))
  }
}

async function cancel(): Promise<void> {
  for (;;) {
    await sleep(dice.below(20))
    const key = settable.splice(dice.below(settable.length), 1)[0]
    if (key === undefined) continue
    tell({ say: 'cancel', key })
    const answer = await timers.cancel(key.startsWith('one') ? one : many, key)
    if (answer === 'cancelled') tell({ say: 'cancelled', key })
  }
}

/** Mostly soon, in this life or the next; some at once, some overdue already. */
function due(): number {
  const now = Date.now()
  if (dice.chance(0.1)) return now
  if (dice.chance(0.05)) return now - dice.below(5000)
  return now + dice.below(dice.chance(0.3) ? 3000 : 500)
}

async function drain(): Promise<void> {
  const until = Date.now() + LONGEST_DRAIN_MS
  while ((await store.countRows()) > 0) {
    if (Date.now() > until) throw new Error(`${await store.countRows()} timers are left`)
    await sleep(50)
  }
  const { items } = await store.deadLetters({ namespace: 'default', limit: 1000 })
  tell({ say: 'drained', dead: items.length })
  await timers.stop()
  await store.stop()
}

function fired(firing: TimerFiring): Fired {
  const { position, revision } = TimerFiring.firingOf(firing).row
  const { key, id, attempt, dueAt } = firing
  return { key, id, attempt, dueAt, position, revision, at: Date.now() }
}

/** Tells how they end; a failure is thrown, to be tried again. */
function end(firings: readonly TimerFiring[], isFailure: boolean): void {
  tell({ say: 'ended', ids: firings.map(({ id }) => id), isDone: !isFailure, at: Date.now() })
  if (isFailure) throw new Error('chaos')
}

/** The store, with every settlement that it acknowledged told. */
function told(inner: Store): Store {
  return new Proxy(inner, {
    get(target, name) {
      if (name === 'settle') return settle
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

async function settle(fence: Fence, settlement: Settlement): ReturnType<Store['settle']> {
  const done = settlement.done.map(({ revision }) => revision)
  const { level, followUps } = settlement
  const rewritten = followUps.map(({ row }) => row.revision)
  const { position, revision } = level
  if (what === 'early-settled') {
    const unknown = rewritten.map((before) => [before, undefined] as const)
    tell({ say: 'settled', level: { position, revision }, done, rewritten: unknown })
  }
  const answer = await store.settle(fence, settlement)
  tell({
    say: 'settled',
    level: { position, revision },
    done,
    rewritten: rewritten.map((before, index) => {
      const row = answer.followUps[index]
      return [before, row === undefined ? undefined : { position: row.position, revision: row.revision }]
    }),
  })
  return answer
}

function tell(line: Line): void {
  writeSync(1, `${JSON.stringify(line)}\n`)
}
