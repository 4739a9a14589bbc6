import type { TimerEngine } from '../../engine/index.js'
import { checkOptions, checkInteger } from '../../error/index.js'
import { type Clock, type Duration, parseDuration } from '../../time/index.js'
import { DRAIN_CHECK_MS, DRAIN_TIME } from '../defaults.js'

/** The limits of one bounded pass. */
export interface DrainOptions {
  /** Start no attempt after this time. Default 10 s. */
  readonly maxTime?: Duration
  /** The most attempts to start. Default: no limit. */
  readonly maxTimers?: number
}

/** The result of a drain. */
export interface Drained {
  /** How many attempts were started. */
  readonly fired: number
  /** Whether no due timer is left that could start here. */
  readonly isCaughtUp: boolean
}

export interface DrainBounds {
  readonly maxTimeMs: number
  readonly maxTimers: number
}

/**
 * Bounded passes over the due timers, one pass at a time. Each starts the engine, waits for its handlers, and releases
 * the shards. Proven by test/front/handlers.test.ts and test/front/claim.test.ts.
 */
export class Drains {
  readonly #engine: TimerEngine
  readonly #clock: Clock
  readonly #allowance: { left: number }
  #last: Promise<unknown> = Promise.resolve()

  constructor({ engine, allowance }: { engine: TimerEngine; allowance: { left: number } }) {
    this.#engine = engine
    this.#clock = engine.clock
    this.#allowance = allowance
  }

  /** Resolves when no pass is running. */
  get idle(): Promise<unknown> {
    return this.#last
  }

  /** Makes one pass, after the earlier ones have ended. `prepare` runs just before it, `finish` just after. */
  async drain(
    options: DrainOptions,
    prepare: () => Promise<void>,
    finish: () => Promise<void>,
  ): Promise<Drained> {
    const bounds = drainBoundsOf(options)
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
      await this.#wait(Math.min(DRAIN_CHECK_MS, maxTimeMs))
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

export function drainBoundsOf(options: DrainOptions): DrainBounds {
  checkOptions('drain', options, ['maxTime', 'maxTimers'])
  const { maxTime = DRAIN_TIME, maxTimers = Infinity } = options
  if (maxTimers !== Infinity) checkInteger('maxTimers', maxTimers, 1)
  return { maxTimeMs: parseDuration(maxTime), maxTimers }
}
