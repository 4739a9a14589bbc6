import type { TimerFiring } from '../delivery/index.js'
import {
  type HistoryPolicy,
  type TimerKind,
  Timers,
  type TimersEvent,
  type TimerView,
} from '../front/index.js'
import { checkOptions } from '../error/index.js'
import { MemoryStore } from '../store/index.js'
import { type Duration, VirtualClock } from '../time/index.js'

export interface TestTimersOptions {
  /** The first wall time, in epoch milliseconds; 2026-01-01 unless given. */
  readonly start?: number
  /** A clock that is there already, to share its time. */
  readonly clock?: VirtualClock
  readonly namespace?: string
  /** What the history keeps. Default all. */
  readonly history?: HistoryPolicy
  /** Seeds what is left to chance (jitter, generated keys): one seed, one run. Default 1. */
  readonly seed?: number
  readonly onEvent?: (event: TimersEvent) => void
}

/** One attempt at a timer of a kind that has no handler. */
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
 * Timers for tests: kept in memory, started, under a clock that stands still until `advance`. A kind without a
 * handler of its own is done when it fires, and what fired is written down for `fired`. The same calls give
 * the same run every time. No test runner is needed, nor a server.
 */
export class TestTimers extends Timers {
  readonly clock: VirtualClock
  readonly #fired = new Map<string, FiredTimer[]>()

  /** Use `testTimers()`, which starts them as well. */
  constructor(options: TestTimersOptions = {}) {
    checkOptions('testTimers', options, known)
    const { start, clock = new VirtualClock(start === undefined ? {} : { start }), seed = 1 } = options
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
      onEvent: options.onEvent ?? (() => undefined),
    })
    this.clock = clock
    this.handleOthers((firing) => this.#note(firing))
  }

  /** Lets time pass; whatever is due meanwhile fires, each at its own moment. */
  async advance(duration: Duration): Promise<void> {
    await this.clock.advance(duration)
  }

  /** Lets time pass up to an instant and not beyond; does nothing when it has come. */
  async advanceTo(at: number): Promise<void> {
    await this.clock.advance(Math.max(0, at - this.clock.now()))
  }

  /** What fired so far of a kind that has no handler, in order. */
  fired<Payload>(kind: TimerKind<Payload>): readonly FiredTimer<Payload>[]
  fired(kind: string): readonly FiredTimer[]
  fired(kind: TimerKind<unknown> | string): readonly FiredTimer[] {
    return [...(this.#fired.get(typeof kind === 'string' ? kind : kind.name) ?? [])]
  }

  /** The timer that is due next; undefined when none is. Paused ones are not. */
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

  /** Stops them, letting as much time pass as handlers under way need, at most what `stop` waits. */
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

/** Timers for a test: `await using timers = await testTimers()`, then `await timers.advance('14d')`. */
export async function testTimers(options?: TestTimersOptions): Promise<TestTimers> {
  const timers = new TestTimers(options)
  await timers.open()
  await timers.start()
  return timers
}

const known = ['start', 'clock', 'namespace', 'history', 'seed', 'onEvent']

const DAY_MS = 86_400_000

/** Nobody else is there to be heard or feared, so that weeks without a timer cost a few wakes; settled at once. */
const unhurried = Object.freeze({
  windowMs: 10 * DAY_MS,
  settleMs: DAY_MS,
  settleCount: 1,
  sweepMs: DAY_MS,
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
