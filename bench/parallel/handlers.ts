import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openTimers, timer } from 'carillon'
import { LoopDelay } from '../service/loop-delay.js'
import inline from './burning-handler.js'
import { roundsOf } from './burn.js'
import { pause } from './pool.js'
import { digits, heading, line } from './print.js'

const BURN_MS = 20
const LEASE_MS = 2000
const ATTEMPTS = 150
const module = new URL('./burning-handler.js', import.meta.url)

/** Handlers that compute for 20 ms: on threads, and in the engine's own thread. */
export async function handlers(): Promise<void> {
  heading(
    `${ATTEMPTS} handlers that await something and then burn ${BURN_MS} ms each, lease of ${LEASE_MS} ms`,
  )
  const rounds = roundsOf(BURN_MS)
  const idle = new LoopDelay()
  await pause(2000)
  const idleMs = idle.end()
  const onThread = await measure(rounds, 1, 'file')
  const inEngine = await measure(rounds, 0, 'file')
  const show = ({ loopMs, lost }: Measured): string => `loop p99.9 ${digits(loopMs)} ms, ${lost} leases lost`
  line('idle', `${digits(idleMs)} ms`, 'event loop p99.9')
  line('one thread', `${digits(onThread.perSecond)}/s`, `${show(onThread)} (goals: idle + 10 ms, none)`)
  line('inline', `${digits(inEngine.perSecond)}/s`, show(inEngine))
  const one = await measure(rounds, 1, 'memory')
  const two = await measure(rounds, 2, 'memory')
  line('one thread on memory:', `${digits(one.perSecond)}/s`)
  line(
    'two threads on memory:',
    `${digits(two.perSecond)}/s`,
    `${digits(two.perSecond / one.perSecond)} × one (goal 1.7 where two cores are free)`,
  )
}

interface Measured {
  readonly perSecond: number
  readonly loopMs: number
  readonly lost: number
}

/** With 0 threads the handlers run inline, all at once. */
async function measure(rounds: number, threads: number, store: 'file' | 'memory'): Promise<Measured> {
  const folder = mkdtempSync(path.join(tmpdir(), 'carillon-bench-'))
  const timers = await openTimers({
    store: store === 'file' ? `file:${folder}` : 'memory:',
    engine: { leaseMs: LEASE_MS },
    logger: false,
  })
  const kind = timer<{ readonly rounds: number }>('burn', threads > 0 ? {} : { concurrency: ATTEMPTS })
  if (threads > 0) await timers.handle(kind, module, { threads })
  else timers.handle(kind, inline)
  const at = Date.now() + 1000
  await timers.setMany(
    kind,
    Array.from({ length: ATTEMPTS }, (_, n) => ({ key: `k${n}`, at, payload: { rounds } })),
  )
  await timers.start()
  await pause(at - 100 - Date.now())
  const loop = new LoopDelay()
  let lost = 0
  let wasLeased = true
  do {
    await pause(20)
    // Another instance may acquire a shard once its lease has ended. There is none here, so it is renewed afterwards.
    const isLeased = timers.engine.stats().shards.every((shard) => shard.isLeased)
    if (wasLeased && !isLeased) lost++
    wasLeased = isLeased
  } while ((await timers.stats()).pending > 0)
  const perSecond = (ATTEMPTS * 1000) / (Date.now() - at)
  const loopMs = loop.end()
  await timers.stop()
  rmSync(folder, { recursive: true })
  return { perSecond, loopMs, lost }
}
