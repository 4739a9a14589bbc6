import type { TimerEngine } from '../engine/index.js'
import { checkOptions, checkWhole } from '../error/index.js'
import { type Clock, type Duration, parseDuration } from '../time/index.js'

// How often it looks whether anything is left.
const LOOK_MS = 5

export interface DrainOptions {
  /** Start nothing after this long. Default 10 s. */
  readonly maxTime?: Duration
  /** Start at most so many. Default: no limit. */
  readonly maxTimers?: number
}

/** What a bounded pass did. */
export interface Drained {
  /** Attempts that were started. */
  readonly fired: number
  /** Whether nothing is left that is due and could be started here. */
  readonly isCaughtUp: boolean
}

interface DrainBounds {
  readonly maxTimeMs: number
  readonly maxTimers: number
}

/** Bounded passes over what is due, one at a time: fires, waits for what was fired, and lets go again. */
export class Drains {
  readonly #engine: TimerEngine
  readonly #clock: Clock
  readonly #allowance: { left: number }
  #last: Promise<unknown> = Promise.resolve()

  constructor(parts: { engine: TimerEngine; clock: Clock; allowance: { left: number } }) {
    this.#engine = parts.engine
    this.#clock = parts.clock
    this.#allowance = parts.allowance
  }

  /** The pass under way, if there is one, is over. */
  get idle(): Promise<unknown> {
    return this.#last
  }

  /** Makes one pass, when those before it are over; `prepare` and `finish` are done just before and after it. */
  async drain(
    options: DrainOptions,
    prepare: () => Promise<void>,
    finish: () => Promise<void>,
  ): Promise<Drained> {
    const bounds = boundsOf(options)
    const before = this.#last
    const pass = (async () => {
      await before
      await prepare()
      const drained = await this.#pass(bounds)
      await finish()
      return drained
    })()
    this.#last = pass.catch(() => undefined)
    return await pass
  }

  async #pass({ maxTimeMs, maxTimers }: DrainBounds): Promise<Drained> {
    const until = this.#clock.monotonic() + maxTimeMs
    const before = this.#engine.stats().counts.fired
    this.#allowance.left = maxTimers
    await this.#engine.start()
    let isCaughtUp = false
    while (!isCaughtUp && this.#allowance.left > 0 && this.#clock.monotonic() < until) {
      await this.#wait(Math.min(LOOK_MS, maxTimeMs))
      isCaughtUp = this.#engine.isCaughtUp
    }
    await this.#engine.rest()
    this.#allowance.left = Infinity
    return { fired: this.#engine.stats().counts.fired - before, isCaughtUp }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.wakeAfter(ms, resolve)
    })
  }
}

function boundsOf(options: DrainOptions): DrainBounds {
  checkOptions('drain', options, ['maxTime', 'maxTimers'])
  const { maxTime = '10s', maxTimers = Infinity } = options
  if (maxTimers !== Infinity) checkWhole('maxTimers', maxTimers, 1)
  return { maxTimeMs: parseDuration(maxTime), maxTimers }
}
