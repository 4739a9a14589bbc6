/**
 * The process that is killed. It sets timers on a file store as fast as a loop of small batches can. Its handlers take
 * some time and sometimes fail. It reports to the receiver what was acknowledged, delivered and settled. With `drain`
 * it sets nothing and ends when no timer is left. With `early-ack` or `early-settled` it reports too early on purpose,
 * and the receiver must notice.
 */
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { openTimers, timer, type TimerFiring } from 'carillon'
import {
  openStore,
  type Fence,
  type LoadRequest,
  type OwnerWrite,
  type Settlement,
  type Store,
} from 'carillon/store'
import { Random } from 'carillon/testing'
import type { ChaosSettings, Fired, Line, Place } from './report.js'
import { writeLine } from '../../write-line.js'

const MAX_HANDLER_MS = 40
const MAX_DRAIN_MS = 60_000
/** How much too early a planted report is: long enough for a kill to come in between. */
const LIE_MS = 100
const retry = { attempts: 1000, backoff: '5ms..50ms' }
const one = timer<string>('one', { retry })
const many = timer<string>('many', { retry })

const [folder = '', round = '1', seed = '1', what = ''] = process.argv.slice(2)
const random = new Random(Number(seed) * 1000 + Number(round))
const settings: ChaosSettings = {
  strategy: random.chance(0.75) ? 'preload' : 'lookahead',
  windowMs: random.chance(0.5) ? 120_000 : 300,
  settleMs: [50, 200, 1000][random.below(3)]!,
  settleCount: random.chance(0.5) ? 10_000 : 200,
  carryAfterMs: random.chance(0.3) ? 20 : 5000,
}

const settable: string[] = []
/** The places of the rows that the engine knows. */
const places = new Map<string, Place>()
let made = 0

const from = performance.now()
const store = await openStore(`file:${folder}`)
const timers = await openTimers({
  store: told(store),
  // A short lease, so that the next process need not wait for it.
  engine: { ...settings, minWindowMs: 100, leaseMs: 400, leaseMarginMs: 50, acquireMs: 20, retryMs: 20 },
})
timers.handle(one, (firing) => {
  tell({ say: 'fired', firings: [fired(firing)] })
  if (random.chance(0.3)) return end([firing], random.chance(0.02))
  return sleep(random.below(MAX_HANDLER_MS)).then(() => end([firing], random.chance(0.02)))
})
timers.handleMany(many, async (firings) => {
  tell({ say: 'fired', firings: firings.map(fired) })
  if (random.chance(0.7)) await sleep(random.below(MAX_HANDLER_MS / 2))
  end(firings, random.chance(0.02))
})
await timers.start()
tell({ say: 'ready', openMs: performance.now() - from, settings })
if (what === 'drain') await drain()
else await Promise.all([set(), set(), cancel()])

/** Sets batches one after another, each acknowledged before the next. Two such loops run at once. */
async function set(): Promise<void> {
  for (;;) {
    const kind = random.chance(0.5) ? one : many
    const rows = Array.from({ length: 1 + random.below(random.chance(0.2) ? 100 : 10) }, () => ({
      key: `${kind.name}-${round}-${++made}`,
      at: due(),
      payload: `${round}/${made}`,
    }))
    const keys = rows.map(({ key }) => key)
    tell({ say: 'set', timers: rows.map(({ key, at }) => [key, at]) })
    if (what === 'early-ack') {
      tell({ say: 'acked', keys })
      await sleep(LIE_MS)
    }
    await timers.setMany(kind, rows)
    if (what !== 'early-ack') tell({ say: 'acked', keys })
    if (settable.length < 1000) settable.push(keys[0]!)
    await sleep(1 + random.below(8))
  }
}

async function cancel(): Promise<void> {
  for (;;) {
    await sleep(random.below(20))
    const key = settable.splice(random.below(settable.length), 1)[0]
    if (key === undefined) continue
    tell({ say: 'cancel', key })
    const answer = await timers.cancel(key.startsWith('one') ? one : many, key)
    if (answer === 'cancelled') tell({ say: 'cancelled', key })
  }
}

/** Mostly soon, before or after the next kill. Some are due at once, some are overdue already. */
function due(): number {
  const now = Date.now()
  if (random.chance(0.1)) return now
  if (random.chance(0.05)) return now - random.below(5000)
  return now + random.below(random.chance(0.3) ? 3000 : 500)
}

async function drain(): Promise<void> {
  const until = Date.now() + MAX_DRAIN_MS
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
  const { key, id, attempt, dueAt } = firing
  const place = places.get(key)
  if (place === undefined) throw new Error(`${key} was delivered and the store never told of it`)
  return { key, id, attempt, dueAt, ...place, at: Date.now() }
}

/** Reports how firings end. A failure is thrown, so that the firing is retried. */
function end(firings: readonly TimerFiring[], isFailure: boolean): void {
  tell({ say: 'ended', ids: firings.map(({ id }) => id), isDone: !isFailure, at: Date.now() })
  if (isFailure) throw new Error('chaos')
}

/** The store, wrapped to record the places of rows and the acknowledged settlements. */
function told(inner: Store): Store {
  const ears: Partial<Store> = { load, write, settle }
  return new Proxy(inner, {
    get(target, name) {
      const ear: unknown = Reflect.get(ears, name)
      if (ear !== undefined) return ear
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

async function load(fence: Fence, request: LoadRequest): ReturnType<Store['load']> {
  const loaded = await store.load(fence, request)
  for (let i = 0; i < loaded.page.size; i++) learn(loaded.page.row(i))
  return loaded
}

async function write(fence: Fence | undefined, asked: OwnerWrite): ReturnType<Store['write']> {
  const answer = await store.write(fence, asked)
  for (const [index, operation] of asked.operations.entries()) {
    const given = answer.answers[index]!
    if (operation.type === 'set' && given.outcome === 'set') learn({ key: operation.key, ...given.place })
  }
  return answer
}

async function settle(fence: Fence, settlement: Settlement): ReturnType<Store['settle']> {
  const { position, revision } = settlement.level
  const level = { position, revision }
  const done = settlement.done.map((row) => row.revision)
  const before = settlement.followUps.map(({ row }) => row.revision)
  if (what === 'early-settled') {
    tell({ say: 'settled', level, done, rewritten: before.map((of) => [of]) })
    await sleep(LIE_MS)
  }
  const answer = await store.settle(fence, settlement)
  for (const row of answer.followUps) if (row !== undefined) learn(row)
  const rewritten = before.map((of, index) => {
    const row = answer.followUps[index]
    return row === undefined
      ? ([of] as const)
      : ([of, { position: row.position, revision: row.revision }] as const)
  })
  tell({ say: 'settled', level, done, rewritten })
  return answer
}

function learn({ key, position, revision }: Place & { readonly key: string }): void {
  places.set(key, { position, revision })
}

function tell(line: Line): void {
  writeLine(line)
}
