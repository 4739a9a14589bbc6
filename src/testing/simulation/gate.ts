import type { Clock } from '../../time/index.js'

// A process that gets control this often without time passing spins.
const MOST_AT_ONE_INSTANT = 20_000

/**
 * The way into one process: everything that would give it control passes here. Held back, it comes later in
 * the order of its arrival, each with a turn of its own; once shut, nothing passes ever again. That is what a
 * pause and a crash are.
 */
export class Gate {
  readonly #clock: Clock
  readonly #onThrow: (error: unknown) => void
  readonly #waiting: (() => void)[] = []
  #instant = -1
  #countAtInstant = 0
  #state: 'open' | 'held' | 'draining' | 'shut' = 'open'

  /** `clock` gives the turns after a pause; it must not be the one that the process sees. */
  constructor(clock: Clock, onThrow: (error: unknown) => void) {
    this.#clock = clock
    this.#onThrow = onThrow
  }

  get isShut(): boolean {
    return this.#state === 'shut'
  }

  enter(run: () => void): void {
    if (this.#state === 'shut') return
    if (this.#state === 'open') this.#run(run)
    else this.#waiting.push(run)
  }

  hold(): void {
    if (this.#state !== 'shut') this.#state = 'held'
  }

  release(): void {
    if (this.#state !== 'held') return
    this.#state = 'draining'
    this.#drain()
  }

  shut(): void {
    this.#state = 'shut'
    this.#waiting.length = 0
  }

  #drain(): void {
    this.#clock.wakeAfter(0, () => {
      if (this.#state !== 'draining') return
      const run = this.#waiting.shift()
      if (run !== undefined) this.#run(run)
      // The process may have been held or shut by what just ran.
      if (this.#state !== 'draining') return
      if (this.#waiting.length === 0) this.#state = 'open'
      else this.#drain()
    })
  }

  #run(run: () => void): void {
    const now = this.#clock.monotonic()
    this.#countAtInstant = now === this.#instant ? this.#countAtInstant + 1 : 0
    this.#instant = now
    if (this.#countAtInstant > MOST_AT_ONE_INSTANT) {
      this.shut()
      this.#onThrow(new Error('the process spins: it never lets time pass'))
      return
    }
    try {
      run()
    } catch (error) {
      this.#onThrow(error)
    }
  }
}
