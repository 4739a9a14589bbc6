import type { TimerFiring } from '../delivery/index.js'
import {
  eventLog,
  type HistoryPolicy,
  type Logger,
  type AnyKind,
  type StoredPayload,
  Timers,
  type TimersEvent,
  type TimerView,
  type UnknownKind,
} from '../front/index.js'
import { checkOptions } from '../error/index.js'
import { MemoryStore } from '../store/index.js'
import { type Duration, VirtualClock } from '../time/index.js'

/** The options of `testTimers`. */
export interface TestTimersOptions {
  /** The wall time at the start, in epoch milliseconds. Default: 2026-01-01. */
  readonly start?: number
  /** An existing clock to use instead of a new one. */
  readonly clock?: VirtualClock
  readonly namespace?: string
  /** What the history keeps. Default: 'all'. */
  readonly history?: HistoryPolicy
  /** The seed of everything random (jitter, generated keys): one seed, one run. Default: 1. */
  readonly seed?: number
  /** Where failed attempts and other warnings are logged. Default: the console. `false`: nowhere. */
  readonly logger?: Logger | false
  readonly onEvent?: (event: TimersEvent) => void
}

/** One attempt at a timer whose kind has no handler. */
export interface FiredTimer<Payload = unknown> {
  readonly kind: string
  readonly key: string
  readonly payload: Payload
  readonly attempt: number
  readonly occurrence: number
  /** When it fired, and when it was due. */
  readonly at: number
  readonly dueAt: number
}

/**
 * Timers for tests: in memory, started, on a clock that moves only by `advance`. A timer whose kind has no handler is
 * done when it fires, and `fired` lists it. The same calls give the same run every time. It needs no test runner and no
 * server.
 *
 * Proven by test/testing/test-timers.test.ts.
 */
export class TestTimers extends Timers {
  readonly clock: VirtualClock
  readonly #fired = new Map<string, FiredTimer[]>()

  /** Use `testTimers()`, which also opens and starts them. */
  constructor(options: TestTimersOptions = {}) {
    checkOptions('testTimers', options, known)
    const { start, clock = new VirtualClock(start === undefined ? {} : { start }), seed = 1 } = options
    // Virtual time passes quickly, so each cause is printed once.
    const log = eventLog(options.logger, clock, Infinity)
    super({
      store: new MemoryStore({ clock }),
      ownsStore: true,
      holdsAll: true,
      clock,
      random: seeded(seed),
      namespace: options.namespace ?? 'default',
      settings: unhurried,
      history: options.history ?? 'all',
      historyMs: Infinity,
      onEvent: (event) => {
        log(event)
        options.onEvent?.(event)
      },
    })
    this.clock = clock
    this.handleOthers((firing) => this.#note(firing))
  }

  /** Lets time pass. Each timer that becomes due fires at its own moment. */
  async advance(duration: Duration): Promise<void> {
    await this.clock.advance(duration)
  }

  /** Lets time pass until this instant. Does nothing if it has passed. */
  async advanceTo(at: number): Promise<void> {
    await this.clock.advance(Math.max(0, at - this.clock.now()))
  }

  /** The attempts so far at timers of a kind without a handler, in order. */
  fired<Kind extends UnknownKind>(kind: Kind): readonly FiredTimer<StoredPayload<Kind>>[]
  fired(kind: string): readonly FiredTimer[]
  fired(kind: AnyKind): readonly FiredTimer[] {
    return [...(this.#fired.get(typeof kind === 'string' ? kind : kind.name) ?? [])]
  }

  /** The timer that is due next; undefined when there is none. Paused timers do not count. */
  async next(): Promise<TimerView | undefined> {
    let earliest: TimerView | undefined
    let cursor: string | undefined
    do {
      const page = await this.list({ limit: 10_000, cursor })
      for (const timer of page.items) {
        if (timer.state === 'waiting' && (earliest === undefined || timer.dueAt < earliest.dueAt))
          earliest = timer
      }
      cursor = page.cursor
    } while (cursor !== undefined)
    return earliest
  }

  /** Stops them. Lets as much time pass as running handlers need, within the limit of `stop`. */
  override stop(): Promise<void> {
    const stopping = super.stop()
    return this.#passing(stopping)
  }

  async #passing(stopping: Promise<void>): Promise<void> {
    const state = { isOver: false }
    const watched = stopping.finally(() => {
      state.isOver = true
    })
    watched.catch(() => undefined)
    await this.clock.advance(0)
    while (!state.isOver) await this.clock.advance(Math.min(this.clock.untilNext() ?? 10, 1000))
    await watched
  }

  #note(firing: TimerFiring): void {
    const { kind, key, payload, attempt, occurrence, firedAt, dueAt } = firing
    const fired = this.#fired.get(kind) ?? []
    fired.push({ kind, key, payload, attempt, occurrence, at: firedAt, dueAt })
    this.#fired.set(kind, fired)
  }
}

/**
 * Timers for a test: `await using timers = await testTimers()`, then `await timers.advance('14d')`.
 *
 * @example
 * ```ts
 * await using timers = await testTimers()
 * await timers.set(timer('trial-ended'), 'ada', { in: '14d' })
 * await timers.advance('14d')
 * ```
 */
export async function testTimers(options?: TestTimersOptions): Promise<TestTimers> {
  const timers = new TestTimers(options)
  await timers.open()
  await timers.start()
  return timers
}

const known = ['start', 'clock', 'namespace', 'history', 'seed', 'logger', 'onEvent']

const DAY_MS = 86_400_000

/** There are no other instances, so the engine need not wake often: weeks without a timer are cheap. It settles at once. */
const unhurried = Object.freeze({
  windowMs: 10 * DAY_MS,
  settleMs: DAY_MS,
  settleCount: 1,
  leaseMs: 10 * DAY_MS,
  acquireMs: 5 * DAY_MS,
  heartbeatMs: 5 * DAY_MS,
  inboxPollMs: 5 * DAY_MS,
  stallMs: 10 * DAY_MS,
})

function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
