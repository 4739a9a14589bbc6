import type { ThreadClock } from '../../time/index.js'
import { armed, ticksBetween } from '../memory/armed-tick.js'
import { LATE_MICROS, TICK_MICROS } from '../defaults.js'
import { poolWords, type PoolMemory, wakeWorker, workerAt, workerWords } from '../memory/pool-memory.js'

const { METRONOME_WAKE, METRONOME_SLEEP, METRONOME_DELAY, METRONOME_BEATS, METRONOME_LATE, WORKERS } =
  poolWords
const { NEXT_DUE, TIMER_NOW } = workerWords

// The longest sleep. Nothing depends on it: it bounds what a lost wake-up would cost.
const LONGEST_MS = 10_000

/**
 * Wakes workers when they have something due. It sleeps until the earliest due tick of any worker, so an idle pool costs
 * nothing. It keeps no state of its own: a new metronome continues where one that died has stopped.
 *
 * A worker that wants to be woken earlier publishes its tick first and looks then at how long the metronome sleeps. The
 * metronome says that it is awake first and looks then at the ticks. So at least one of the two sees the other.
 *
 * Proven by test/parallel/metronome.test.ts and test/parallel/worker-deaths.test.ts.
 */
export class Metronome {
  readonly #words: Int32Array
  readonly #clock: ThreadClock

  constructor({ control }: PoolMemory, clock: ThreadClock) {
    this.#words = new Int32Array(control)
    this.#clock = clock
  }

  /** Wakes the workers that have something due, then sleeps. Blocks the thread. */
  beat(): void {
    const words = this.#words
    const seen = Atomics.load(words, METRONOME_WAKE)
    Atomics.store(words, METRONOME_SLEEP, 0)
    Atomics.add(words, METRONOME_BEATS, 1)
    const micros = this.#clock.micros()
    const tick = Math.floor(micros / TICK_MICROS)
    const now = armed(tick, tick)
    let ticks = Infinity
    const workers = Atomics.load(words, WORKERS)
    for (let owner = 1; owner <= workers; owner++) {
      const at = workerAt(owner)
      const due = Atomics.load(words, at + NEXT_DUE)
      if (due === 0) continue
      const ahead = ticksBetween(due, now)
      if (ahead > 0) ticks = Math.min(ticks, ahead)
      // If the worker has published another tick meanwhile, it looks at how long this sleeps.
      else if (Atomics.compareExchange(words, at + NEXT_DUE, due, 0) === due) this.#wake(owner, now, due)
    }
    const untilTick = ticks === Infinity ? tick + Math.ceil((LONGEST_MS * 1000) / TICK_MICROS) : tick + ticks
    Atomics.store(words, METRONOME_SLEEP, armed(untilTick, tick))
    const sleepMs = (untilTick * TICK_MICROS - this.#clock.micros()) / 1000
    if (sleepMs > 0) Atomics.wait(words, METRONOME_WAKE, seen, sleepMs)
  }

  #wake(owner: number, now: number, due: number): void {
    const words = this.#words
    const delay = ticksBetween(now, due) * TICK_MICROS
    if (delay > Atomics.load(words, METRONOME_DELAY)) Atomics.store(words, METRONOME_DELAY, delay)
    if (delay > LATE_MICROS) Atomics.add(words, METRONOME_LATE, 1)
    Atomics.store(words, workerAt(owner) + TIMER_NOW, now)
    wakeWorker(words, owner)
  }
}

/** Publishes when a worker wants to be woken, and wakes the metronome if it would sleep longer. */
export function publishNextDue(words: Int32Array, owner: number, dueTick: number, nowTick: number): void {
  const due = armed(Math.max(dueTick, nowTick), nowTick)
  Atomics.store(words, workerAt(owner) + NEXT_DUE, due)
  const sleepsUntil = Atomics.load(words, METRONOME_SLEEP)
  if (sleepsUntil === 0 || ticksBetween(due, sleepsUntil) < 0) {
    Atomics.add(words, METRONOME_WAKE, 1)
    Atomics.notify(words, METRONOME_WAKE)
  }
}
