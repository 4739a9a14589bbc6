import type { Clock } from '../../time/index.js'
import type { Deliver, TimerRow } from '../../timer/index.js'
import type { Attempt } from './attempt.js'
import { AttemptList } from './attempt-list.js'
import { type EngineCounts, lateMsOf } from '../counts.js'
import type { DeliveryPolicy } from '../delivery-policy.js'
import { Lane } from './lane.js'
import type { StartBudget } from './start-budget.js'
import type { Throttles } from './throttles.js'

/** Decides what may start. */
export interface StartGuard {
  /** Whether anything may start at all. */
  readonly isOpen: boolean
  /** Whether attempts of a lane may start now. If not, the lane is marked again once that has changed. */
  mayStart(lane: Lane): boolean
  /** Whether this attempt starts now. If not, it has left its lane nevertheless. */
  admits(attempt: Attempt, now: number): boolean
}

/**
 * The due timers that wait, in one lane for each kind, and the attempts under way. Throttles, rates and the allowance
 * of a drain limit how many start. Each kind has its own lane, so a slow handler delays only its own kind.
 *
 * Proven by test/engine/blocked-loop.test.ts, test/engine/crowding.test.ts and the mutant 'a waiting row is queued twice'.
 */
export class Lanes {
  /** The number of the delivery that runs in this turn of the event loop; 0 between deliveries. */
  delivery = 0
  readonly #clock: Clock
  readonly #deliver: Deliver
  readonly #policy: DeliveryPolicy
  readonly #throttles: Throttles
  readonly #counts: EngineCounts
  readonly #guard: StartGuard
  readonly #startBudget: StartBudget
  readonly #byNamespace = new Map<string, Map<string, Lane>>()
  readonly #marked = new Set<Lane>()
  // Attempts under way, in the order they started.
  readonly #started = new AttemptList()
  // Attempts of the lane that is being delivered that were taken back.
  #returned: Attempt[] = []
  #isFlushing = false
  #deliveries = 0
  #isOver = false

  constructor(parts: {
    clock: Clock
    deliver: Deliver
    policy: DeliveryPolicy
    throttles: Throttles
    counts: EngineCounts
    guard: StartGuard
    startBudget: StartBudget
  }) {
    this.#clock = parts.clock
    this.#deliver = parts.deliver
    this.#policy = parts.policy
    this.#throttles = parts.throttles
    this.#counts = parts.counts
    this.#guard = parts.guard
    this.#startBudget = parts.startBudget
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

  /** Whether a due timer waits, whether it could start or not. */
  get isAnyWaiting(): boolean {
    for (const lane of this) if (lane.waiting > 0) return true
    return false
  }

  /** Whether a due timer waits whose kind has a handler and is not paused. */
  get isAnyStartable(): boolean {
    for (const lane of this) if (lane.waiting > 0 && lane.throttle.isOpen) return true
    return false
  }

  /** Puts a due timer into its lane, to be started by the next `flush`. */
  enqueue(attempt: Attempt): void {
    const lane = (attempt.lane ??= this.#laneOf(attempt.row))
    lane.push(attempt)
    this.#marked.add(lane)
  }

  /** The next `flush` starts what may start of this lane. */
  mark(lane: Lane): void {
    this.#marked.add(lane)
  }

  markAll(): void {
    for (const lane of this) this.#marked.add(lane)
  }

  /** Starts what may start of the marked lanes. */
  flush(): void {
    // A handler that reports at once calls back in here. The loop that is running serves it.
    if (this.#isFlushing || !this.#guard.isOpen) return
    this.#isFlushing = true
    try {
      for (const lane of this.#marked) {
        if (this.#startBudget.isOver) break
        this.#marked.delete(lane)
        const batch = this.#startBatch(lane)
        if (batch.length > 0) this.#deliverTimed(lane, batch)
      }
    } finally {
      this.#isFlushing = false
    }
    if (this.#marked.size > 0) this.#startBudget.next(this.#flushOn)
  }

  readonly #flushOn = (): void => this.flush()

  /** Delivers a batch, and learns from the time it takes how many to deliver at once. */
  #deliverTimed(lane: Lane, batch: readonly Attempt[]): void {
    const from = this.#clock.monotonic()
    this.delivery = ++this.#deliveries
    this.#deliver(batch)
    this.delivery = 0
    const tookMs = this.#clock.monotonic() - from
    const returned = this.#returned
    this.#startBudget.took(tookMs, batch.length - returned.length)
    if (returned.length === 0) {
      lane.mostAtOnce *= 2
      return
    }
    this.#returned = []
    lane.putFirst(returned)
    lane.mostAtOnce = Math.max(1, 2 * (batch.length - returned.length))
    this.#marked.add(lane)
  }

  /** An attempt that was delivered was not started. It waits in its lane again, before all others. */
  takeBack(attempt: Attempt): void {
    const lane = attempt.lane!
    this.#started.remove(attempt)
    const lateMs = lateMsOf(attempt.row, attempt.firedAt)
    this.#counts.notStarted(lateMs)
    lane.throttle.lateness.remove(lateMs)
    lane.throttle.notStarted()
    lane.started--
    this.#policy.allowance.left++
    attempt.startedAt = -1
    if (this.#isOver) return
    if (this.#isFlushing) {
      this.#returned.push(attempt)
      return
    }
    lane.unshift(attempt)
    // Lanes of other shards may wait for the slot that it had.
    if (lane.throttle.isShared) lane.throttle.wake()
  }

  /** Starts more of the lane in the next turn of the event loop. */
  resumeLater(lane: Lane): void {
    this.#marked.add(lane)
    this.#startBudget.next(this.#flushOn)
  }

  /** An attempt has ended: it no longer counts as under way. */
  removeEnded(attempt: Attempt): void {
    this.#started.remove(attempt)
    const { throttle } = attempt.lane!
    throttle.ended(attempt.outcome)
    if (this.#isOver) throttle.wake()
  }

  /** An attempt has ended: starts timers that waited for that. */
  startWaiting({ lane }: Attempt): void {
    const { throttle, waiting } = lane!
    if (throttle.isShared) {
      // A shard with many timers lets the other shards go first.
      if (waiting > 0) throttle.wait(lane!)
      throttle.wake()
    } else if (waiting > 0) this.#marked.add(lane!)
    if (this.#marked.size > 0) this.flush()
  }

  /** The shard is no longer here: its lanes leave the throttles to other shards. */
  detach(): void {
    this.#isOver = true
    for (const lane of this) lane.throttle.unregister(lane)
  }

  /** Starts as many timers of a lane as may run. */
  #startBatch(lane: Lane): Attempt[] {
    const batch: Attempt[] = []
    if (lane.waiting === 0) return batch
    const { throttle } = lane
    const available = throttle.available()
    if (available <= 0) {
      throttle.wait(lane)
      return batch
    }
    if (!this.#guard.mayStart(lane)) return batch
    const now = this.#clock.now()
    const startedAt = this.#clock.monotonic()
    const most = Math.min(available, this.#policy.allowance.left, lane.mostAtOnce)
    while (batch.length < most) {
      const attempt = lane.shift()
      if (attempt === undefined) break
      if (!this.#guard.admits(attempt, now)) continue
      attempt.startedAt = startedAt
      // The store has found a claimed row due. Its clock may be a little ahead of what this machine knows of it.
      attempt.firedAt = Math.max(now, attempt.row.dueAt)
      this.#started.add(attempt)
      const lateMs = lateMsOf(attempt.row, attempt.firedAt)
      this.#counts.started(lateMs)
      throttle.lateness.add(lateMs)
      batch.push(attempt)
    }
    throttle.started(batch.length)
    lane.started += batch.length
    this.#policy.allowance.left -= batch.length
    if (lane.waiting > 0 && batch.length === available) throttle.wait(lane)
    else if (lane.waiting > 0 && batch.length === lane.mostAtOnce) this.#marked.add(lane)
    return batch
  }

  #laneOf(row: TimerRow): Lane {
    let kinds = this.#byNamespace.get(row.namespace)
    if (kinds === undefined) this.#byNamespace.set(row.namespace, (kinds = new Map()))
    let lane = kinds.get(row.kind)
    if (lane === undefined) {
      lane = new Lane(row, this.#throttles.of(row.namespace, row.kind), (each) => {
        this.#marked.add(each)
        this.flush()
      })
      kinds.set(row.kind, lane)
      if (!this.#isOver) lane.throttle.join(lane)
    }
    return lane
  }

  /** All lanes, also those in which nothing waits. */
  *[Symbol.iterator](): Generator<Lane, void, undefined> {
    for (const kinds of this.#byNamespace.values()) yield* kinds.values()
  }
}
