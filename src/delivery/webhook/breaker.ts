import type { Clock, Wake } from '../../time/index.js'

export interface BreakerPolicy {
  /** How many failures in a row open it. */
  readonly failures: number
  /** How long it stays open at first. The time doubles after each trial that fails. */
  readonly pauseMs: number
  readonly maxPauseMs: number
}

/** 'open': nothing is sent. 'trying': a single message is sent as a trial. */
export type BreakerState = 'closed' | 'open' | 'trying'

/**
 * Stops sending to a target that fails, which also saves the attempts of the timers that wait for it. After some failures
 * in a row nothing is sent for a while, then one message as a trial. Its outcome closes the breaker or opens it again.
 */
export class Breaker {
  readonly #policy: BreakerPolicy
  readonly #clock: Clock
  readonly #onChange: (state: BreakerState) => void
  #state: BreakerState = 'closed'
  #failures = 0
  #pauseMs: number
  #wake: Wake | undefined

  constructor(policy: BreakerPolicy, clock: Clock, onChange: (state: BreakerState) => void) {
    this.#policy = policy
    this.#clock = clock
    this.#onChange = onChange
    this.#pauseMs = policy.pauseMs
  }

  get state(): BreakerState {
    return this.#state
  }

  succeeded(): void {
    this.#failures = 0
    if (this.#state === 'closed') return
    this.#wake?.cancel()
    this.#pauseMs = this.#policy.pauseMs
    this.#become('closed')
  }

  failed(): void {
    this.#failures++
    // Messages that were sent before it opened do not count.
    if (this.#state === 'open' || this.#failures < this.#policy.failures) return
    if (this.#state === 'trying') this.#pauseMs = Math.min(2 * this.#pauseMs, this.#policy.maxPauseMs)
    this.#wake = this.#clock.wakeAfter(this.#pauseMs, () => this.#become('trying'), { keepAlive: false })
    this.#become('open')
  }

  stop(): void {
    this.#wake?.cancel()
  }

  #become(state: BreakerState): void {
    this.#state = state
    this.#onChange(state)
  }
}
