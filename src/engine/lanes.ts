import type { Clock } from '../time/index.js'
import type { Deliver, TimerRow } from '../timer/index.js'
import type { Attempt } from './attempt.js'
import { AttemptList } from './attempt-list.js'
import type { EngineCounts } from './engine-counts.js'
import type { Flow } from './flow.js'
import { Lane } from './lane.js'
import type { Throttles } from './throttles.js'

/** Has the last word on what starts. */
export interface Gate {
  /** Whether anything is started at all. */
  readonly isOpen: boolean
  /** Whether attempts may start now; whoever says no marks the lane when that has changed. */
  mayStart(lane: Lane): boolean
  /** Whether this attempt starts now. One that does not has left its lane all the same. */
  admits(attempt: Attempt, now: number): boolean
}

/**
 * The due timers that wait, a lane for each kind, and the attempts under way. As many start as throttles, rates and
 * the allowance let through; each kind has its own lane, so a slow handler delays only its own kind.
 */
export class Lanes {
  readonly #clock: Clock
  readonly #deliver: Deliver
  readonly #flow: Flow
  readonly #throttles: Throttles
  readonly #counts: EngineCounts
  readonly #gate: Gate
  readonly #byNamespace = new Map<string, Map<string, Lane>>()
  readonly #marked = new Set<Lane>()
  // Attempts under way, in the order they started.
  readonly #started = new AttemptList()
  #isFlushing = false
  #isOver = false

  constructor(parts: {
    clock: Clock
    deliver: Deliver
    flow: Flow
    throttles: Throttles
    counts: EngineCounts
    gate: Gate
  }) {
    this.#clock = parts.clock
    this.#deliver = parts.deliver
    this.#flow = parts.flow
    this.#throttles = parts.throttles
    this.#counts = parts.counts
    this.#gate = parts.gate
  }

  /** Attempts under way. */
  get running(): number {
    return this.#started.size
  }

  get started(): Iterable<Attempt> {
    return this.#started
  }

  /** The timer that has waited longest to be started; undefined when none waits. */
  oldestReady(): Attempt | undefined {
    let oldest: Attempt | undefined
    for (const lane of this) {
      const first = lane.peek()
      if (first !== undefined && (oldest === undefined || first.readyAt < oldest.readyAt)) oldest = first
    }
    return oldest
  }

  /** Whether a due timer waits whose kind has a handler and is not paused. */
  get isAnyStartable(): boolean {
    for (const lane of this) if (lane.waiting > 0 && lane.throttle.isOpen) return true
    return false
  }

  /** Puts a due timer into its lane, to be started by the next `flush`. */
  offer(attempt: Attempt): void {
    const lane = (attempt.lane ??= this.#laneOf(attempt.row))
    lane.push(attempt)
    this.#marked.add(lane)
  }

  /** The next `flush` looks at this lane. */
  mark(lane: Lane): void {
    this.#marked.add(lane)
  }

  markAll(): void {
    for (const lane of this) this.#marked.add(lane)
  }

  /** Starts what may start of the lanes that were marked. */
  flush(): void {
    // A handler that reports at once calls back in here: one loop does it all.
    if (this.#isFlushing || !this.#gate.isOpen) return
    this.#isFlushing = true
    try {
      for (const lane of this.#marked) {
        this.#marked.delete(lane)
        const batch = this.#take(lane)
        if (batch.length > 0) this.#deliver(batch)
      }
    } finally {
      this.#isFlushing = false
    }
  }

  /** An attempt is over: it no longer counts as under way. */
  leave(attempt: Attempt): void {
    this.#started.remove(attempt)
    const { throttle } = attempt.lane!
    throttle.ended()
    if (this.#isOver) throttle.wake()
  }

  /** Those that waited for the end of an attempt may start. */
  goOn({ lane }: Attempt): void {
    const { throttle, waiting } = lane!
    if (throttle.isShared) {
      // A shard with much to do leaves the others their turn.
      if (waiting > 0) throttle.wait(lane!)
      throttle.wake()
    } else if (waiting > 0) this.#marked.add(lane!)
    if (this.#marked.size > 0) this.flush()
  }

  /** From now on the throttles are the others'. */
  end(): void {
    this.#isOver = true
    for (const lane of this) lane.throttle.leave(lane)
  }

  /** Starts as many of a lane as may run. */
  #take(lane: Lane): Attempt[] {
    const batch: Attempt[] = []
    if (lane.waiting === 0) return batch
    const { throttle } = lane
    const available = throttle.available()
    if (available <= 0) {
      throttle.wait(lane)
      return batch
    }
    if (!this.#gate.mayStart(lane)) return batch
    const now = this.#clock.now()
    const startedAt = this.#clock.monotonic()
    const most = Math.min(available, this.#flow.allowance.left)
    while (batch.length < most) {
      const attempt = lane.shift()
      if (attempt === undefined) break
      if (!this.#gate.admits(attempt, now)) continue
      attempt.startedAt = startedAt
      attempt.firedAt = now
      this.#started.add(attempt)
      this.#counts.started(now - attempt.row.dueAt)
      batch.push(attempt)
    }
    throttle.started(batch.length)
    lane.started += batch.length
    this.#flow.allowance.left -= batch.length
    if (lane.waiting > 0 && batch.length === available) throttle.wait(lane)
    return batch
  }

  #laneOf(row: TimerRow): Lane {
    let kinds = this.#byNamespace.get(row.namespace)
    if (kinds === undefined) this.#byNamespace.set(row.namespace, (kinds = new Map()))
    let lane = kinds.get(row.kind)
    if (lane === undefined) {
      lane = new Lane(this.#throttles.of(row.namespace, row.kind), (each) => {
        this.#marked.add(each)
        this.flush()
      })
      kinds.set(row.kind, lane)
      if (!this.#isOver) lane.throttle.join(lane)
    }
    return lane
  }

  /** All lanes there are, whether anything waits in them or not. */
  *[Symbol.iterator](): Generator<Lane, void, undefined> {
    for (const kinds of this.#byNamespace.values()) yield* kinds.values()
  }
}
