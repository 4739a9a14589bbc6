import { type Fired, type Line, machineMs } from './report.js'
import { type Start, TimerHistory } from './timer-history.js'

/** The checks, by the name under which violations are counted. */
const checks = Object.freeze({
  lost: 'acknowledged, not cancelled, and neither done nor a dead letter',
  early: "started before its due time by the store's clock",
  'after-cancel': 'started after `cancelled` was answered',
  'after-settlement': 'started after its settlement was acknowledged',
  'same-attempt': 'two attempts have the same number',
  backwards: 'an attempt has a lower number than one before it',
  'too-many-attempts': 'attempt numbers beyond the policy, or beyond failures and takeovers',
  'dead-though-done': 'a dead letter although an attempt succeeded',
  'at-once': 'started while an attempt ran in a process that was well and had not lost its lease',
  other: 'anything else',
})
export type Check = keyof typeof checks

/** A time in which a process was paused, cut off or gone. Without a name it holds for all processes. */
interface Disturbance {
  readonly by: string | undefined
  readonly from: number
  until: number
}

export interface ReceiverParts {
  /**
   * The latest time that the store's clock may have shown at a moment of the machine's clock, in epoch milliseconds.
   */
  readonly storeTimeAt: (machineMs: number) => number
  /** An attempt may start this much before its due time: the documented error of the measured clock. */
  readonly toleranceMs: number
  /** The attempts that the policy of all timers allows. */
  readonly attempts: number
}

/** How many histories are printed in full. */
const MAX_SHOWN = 5
/** A takeover may count a row as attempted this long before it is due: the clocks of owners may differ by 500 ms. */
const SUSPECT_MS = 600
/** A process may notice this long after a takeover that it lost the shard. */
const LOSS_MS = 20_000

/**
 * Checks the promises over all instances and all their processes. Every acknowledged timer is delivered and done at
 * least once, or is a dead letter. None starts early by the store's clock, or after its settlement or its
 * cancellation was acknowledged. The firing id stays the same. Attempt numbers rise, and by no more than failures and
 * takeovers explain. No two attempts run at once in processes without trouble. Nothing that succeeded is a dead
 * letter.
 */
export class Receiver {
  /** A sentence for each violation, the first ones with the whole history of the timer. */
  readonly faults: string[] = []
  readonly counts = new Map<Check, number>()
  acked = 0
  unsure = 0
  deliveries = 0
  settledCount = 0
  cancelledCount = 0
  deadCount = 0
  /** Deliveries of timers that another process had already done, and of timers that another process had started. */
  repeats = 0
  resumed = 0
  retries = 0
  /**
   * Attempts that started before their process was paused, and arrived after another process had settled the timer.
   */
  overtaken = 0
  /** The earliest start before its due time by the store's clock, in milliseconds; 0 when none was early. */
  mostEarlyMs = 0
  /** Deliveries that repeat an attempt that had not failed, by the fault that came before them. */
  readonly repeatsByFault = new Map<string, number>()
  readonly troubles = new Map<string, number>()
  /** How many events the engines emitted, by type. */
  readonly events = new Map<string, number>()
  readonly #parts: ReceiverParts
  readonly #timers = new Map<string, TimerHistory>()
  readonly #waiting = new Set<string>()
  readonly #disturbances: Disturbance[] = []
  readonly #goneAt = new Map<string, number>()
  readonly #faultTimes: { readonly name: string; readonly at: number }[] = []
  // Leases that ended before they were renewed, by shard or, with claims, by key.
  readonly #losses: { readonly by: string; readonly what: number | string; readonly at: number }[] = []
  readonly #acquiredAt = new Map<number, number[]>()
  readonly #epochMs = Date.now() - machineMs()

  constructor(parts: ReceiverParts) {
    this.#parts = parts
  }

  take(by: string, line: Line): void {
    switch (line.say) {
      case 'set':
        for (const [key, dueAt] of line.timers) this.of(key).dueAt = dueAt
        break
      case 'acked':
        for (const key of line.keys) this.#acked(key)
        break
      case 'unsure':
        this.unsure += line.keys.length
        break
      case 'cancel':
        this.of(line.key).cancelAskedAt = machineMs()
        break
      case 'cancelled':
        this.#cancelled(line.key, line.at)
        break
      case 'fired':
        for (const firing of line.firings) this.#fired(by, firing)
        break
      case 'ended':
        for (const [key, attempt] of line.attempts) this.#ended(by, key, attempt, line)
        break
      case 'settled':
        // Timers of web processes have a ledger of their own.
        for (const key of line.keys) if (!key.startsWith('web-')) this.#settled(key, line.at)
        break
      case 'trouble':
        this.troubles.set(line.code, (this.troubles.get(line.code) ?? 0) + 1)
        break
      case 'event':
        this.events.set(line.type, (this.events.get(line.type) ?? 0) + 1)
        this.#noteLoss(by, line)
        break
      case 'blocked':
        this.#disturbances.push({ by, from: line.from, until: line.until })
        break
      case 'acquired':
        this.#acquired(line.shard, line.at)
        break
      // The ledger of the web processes takes these.
      case 'web-fired':
      case 'web-ended':
      case 'ready':
      case 'answer':
      case 'let-go':
        break
    }
  }

  of(key: string): TimerHistory {
    let timer = this.#timers.get(key)
    if (timer === undefined) this.#timers.set(key, (timer = new TimerHistory(key)))
    return timer
  }

  get timers(): Iterable<TimerHistory> {
    return this.#timers.values()
  }

  /** Acknowledged, not cancelled, and neither done nor dead so far. */
  get waiting(): readonly string[] {
    return [...this.#waiting].filter((key) => this.of(key).cancelAskedAt === Infinity)
  }

  /** A fault begins: repeated deliveries are counted for it from now on. */
  faultBegins(name: string): void {
    this.#faultTimes.push({ name, at: machineMs() })
  }

  /** A process is paused or cut off until the returned function is called. Without a name, all are. */
  disturb(by: string | undefined): () => void {
    const disturbance = { by, from: machineMs(), until: Infinity }
    this.#disturbances.push(disturbance)
    return () => (disturbance.until = machineMs())
  }

  /**
   * A process was asked to stop. After `stopMs` it gives up its attempts, even if their handlers ignore the signal.
   */
  leaves(by: string, stopMs: number): void {
    this.#disturbances.push({ by, from: machineMs() + stopMs, until: Infinity })
  }

  /** A process has ended for any reason, and its attempts with it. */
  gone(by: string, at: number, wasKilled: boolean): void {
    this.#goneAt.set(by, at)
    if (wasKilled) this.#disturbances.push({ by, from: at, until: Infinity })
  }

  /** The store keeps it as a dead letter. */
  dead(key: string, reason: string): void {
    this.deadCount++
    this.of(key).deadReason = reason
    this.#waiting.delete(key)
  }

  /** The last checks, when the store is empty or nobody waits any longer. */
  finish(): void {
    for (const key of this.waiting) this.#fault('lost', this.of(key), 'was acknowledged and never done')
    for (const timer of this.#timers.values()) {
      if (timer.dueAt === undefined) this.#fault('other', timer, 'was delivered or settled, never set')
      if (timer.deadReason !== undefined && timer.isDone)
        this.#fault('dead-though-done', timer, 'succeeded and is a dead letter')
      if (timer.starts.length > 1 || (timer.starts[0]?.attempt ?? 1) > 1) this.#checkAttempts(timer)
    }
  }

  /** A violation that is not about one timer. */
  add(text: string): void {
    this.#count('other')
    this.faults.push(text)
  }

  #acked(key: string): void {
    this.acked++
    const timer = this.of(key)
    timer.ackedAt = machineMs()
    if (!timer.isDone) this.#waiting.add(key)
  }

  #cancelled(key: string, at: number): void {
    this.cancelledCount++
    const timer = this.of(key)
    timer.cancelledAt = at
    for (const start of timer.starts) this.#checkCancelled(timer, start)
  }

  #fired(by: string, { key, id, attempt, dueAt, startedAt, at, shard }: Fired): void {
    this.deliveries++
    const timer = this.of(key)
    const earlyMs = dueAt - this.#parts.storeTimeAt(at)
    this.mostEarlyMs = Math.max(this.mostEarlyMs, earlyMs)
    const start: Start = { by, attempt, at, startedAt, endedAt: Infinity, isDone: false }
    const before = timer.last
    const isSame = timer.starts.some((other) => other.attempt === attempt)
    timer.starts.push(start)
    timer.shard ??= shard
    if (earlyMs > this.#parts.toleranceMs)
      this.#fault('early', timer, `was delivered ${earlyMs.toFixed(1)} ms early by ${by}`)
    if (timer.dueAt !== undefined && timer.dueAt !== dueAt)
      this.#fault('other', timer, `is due at ${dueAt}, it was set to ${timer.dueAt}`)
    if (timer.id !== undefined && timer.id !== id)
      this.#fault('other', timer, `was the firing ${timer.id} and is now ${id}`)
    if (isSame) this.#fault('same-attempt', timer, `was delivered twice as attempt ${attempt}, now by ${by}`)
    this.#checkCancelled(timer, start)
    this.#checkSettled(timer, start)
    if (startedAt <= timer.settledAt && at > timer.settledAt) this.overtaken++
    if (before !== undefined) {
      if (before.by === by) this.retries++
      else if (timer.isDone) this.repeats++
      else this.resumed++
    }
    timer.id = id
  }

  #ended(by: string, key: string, attempt: number, { at, isDone }: { at: number; isDone: boolean }): void {
    const timer = this.of(key)
    const start = timer.running(by, attempt)
    if (start !== undefined) {
      start.endedAt = at
      start.isDone = isDone
    }
    if (!isDone) return
    timer.isDone = true
    this.#waiting.delete(key)
  }

  #settled(key: string, at: number): void {
    this.settledCount++
    const timer = this.of(key)
    // The process that delivered it reports this, so the delivery is already known.
    if (!timer.isDone) this.#fault('other', timer, 'was settled while no attempt at it was over')
    timer.settledAt = Math.min(timer.settledAt, at)
    // A start at another instance may have been reported first.
    for (const start of timer.starts) this.#checkSettled(timer, start)
  }

  #acquired(shard: number, at: number): void {
    const all = this.#acquiredAt.get(shard) ?? []
    this.#acquiredAt.set(shard, all)
    all.push(at)
  }

  #noteLoss(by: string, { type, shard, text, at }: Extract<Line, { say: 'event' }>): void {
    if (type === 'lost' && shard !== undefined) this.#losses.push({ by, what: shard, at })
    if (type === 'lease-lost') this.#losses.push({ by, what: text, at })
  }

  #checkCancelled(timer: TimerHistory, { by, at, startedAt, attempt }: Start): void {
    if (at <= timer.cancelledAt) return
    // An attempt that started before its process was paused is reported after the pause.
    if (startedAt <= timer.cancelledAt && this.isDisturbed(by, startedAt, at)) return
    const ms = (at - timer.cancelledAt).toFixed(1)
    this.#fault('after-cancel', timer, `attempt ${attempt} started in ${by} ${ms} ms after cancelled`)
  }

  #checkSettled(timer: TimerHistory, { by, at, startedAt, attempt }: Start): void {
    if (at <= timer.settledAt) return
    if (startedAt <= timer.settledAt && this.isDisturbed(by, startedAt, at)) return
    const ms = (at - timer.settledAt).toFixed(1)
    this.#fault(
      'after-settlement',
      timer,
      `attempt ${attempt} started in ${by} ${ms} ms after its settlement was acknowledged`,
    )
  }

  /** Checks that need the complete history. */
  #checkAttempts(timer: TimerHistory): void {
    const inOrder = timer.inOrder
    let highest = 0
    for (const [index, start] of inOrder.entries()) {
      const earlier = inOrder.slice(0, index)
      if (start.attempt < highest)
        this.#fault('backwards', timer, `attempt ${start.attempt} started after attempt ${highest}`)
      highest = Math.max(highest, start.attempt)
      const running = earlier.find((other) => this.#runsBeside(timer, other, start))
      if (running !== undefined) {
        const text = `attempt ${start.attempt} started in ${start.by} while attempt ${running.attempt} ran in ${running.by}`
        this.#fault('at-once', timer, text)
      }
      const most = this.#mostAttempts(timer, start, earlier)
      if (start.attempt > most)
        this.#fault('too-many-attempts', timer, `attempt ${start.attempt} started, at most ${most} can be`)
      if (earlier.some(({ endedAt, isDone }) => isDone || endedAt > start.at)) this.#repeated(start.at)
    }
  }

  #runsBeside(timer: TimerHistory, other: Start, start: Start): boolean {
    const end = Math.min(other.endedAt, this.#goneAt.get(other.by) ?? Infinity)
    if (start.at >= end || this.isDisturbed(other.by, other.at, start.at)) return false
    // Its process may have got no processor time for too long. It noticed at its next call to the store.
    return !this.#losses.some(
      ({ by, what, at }) =>
        by === other.by &&
        (what === timer.shard || what === timer.key) &&
        at >= other.at &&
        at <= start.at + LOSS_MS,
    )
  }

  /** One more than the failed attempts and the attempts of unknown outcome that takeovers may have counted. */
  #mostAttempts(timer: TimerHistory, start: Start, earlier: readonly Start[]): number {
    const failed = earlier.filter(({ endedAt, isDone }) => !isDone && endedAt <= start.at).length
    if (timer.shard === undefined || timer.dueAt === undefined) return this.#parts.attempts
    const suspectFrom = timer.dueAt - SUSPECT_MS
    const taken = (this.#acquiredAt.get(timer.shard) ?? []).filter(
      (at) => at <= start.at && this.#parts.storeTimeAt(at) >= suspectFrom,
    )
    return Math.min(this.#parts.attempts, 1 + failed + taken.length)
  }

  /** Whether a process was paused, cut off or gone at some moment between these. */
  isDisturbed(by: string, from: number, until: number): boolean {
    return this.#disturbances.some(
      (one) => (one.by === undefined || one.by === by) && one.from <= until && one.until >= from,
    )
  }

  #repeated(at: number): void {
    const name = this.#faultTimes.findLast((fault) => fault.at <= at)?.name ?? 'no fault'
    this.repeatsByFault.set(name, (this.repeatsByFault.get(name) ?? 0) + 1)
  }

  #fault(check: Check, timer: TimerHistory, text: string): void {
    this.#count(check)
    const shown = this.faults.length < MAX_SHOWN ? `\n    ${timer.shown(this.#epochMs)}` : ''
    this.faults.push(`${check}: ${timer.key} ${text}${shown}`)
  }

  #count(check: Check): void {
    this.counts.set(check, (this.counts.get(check) ?? 0) + 1)
  }
}
