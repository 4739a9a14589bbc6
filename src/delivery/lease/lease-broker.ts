import { InvalidInputError, LimitError, shown, StateError } from '../../error/index.js'
import type { Clock, Duration } from '../../time/index.js'
import { TimingWheel } from '../../wheel/index.js'
import { Dead, RetryAfter } from '../dead.js'
import type { Handler } from '../handlers.js'
import { TimerFiring } from '../timer-firing.js'
import type { LeaseTarget } from './lease.js'
import { type LeasedFiring, leasedFiringOf } from './leased-firing.js'
import { LeasedKind } from './leased-kind.js'
import { Receipts } from './receipts.js'
import { type LeaseRequest, WaitingWorker } from './waiting-worker.js'

// How many workers may wait at once in an instance.
const MAX_WAITING = 10_000
// A worker lease may end this much late, but never early.
const EXPIRY_INTERVAL_MS = 10

/** What follows a leased attempt that was done. */
interface Acknowledgement {
  readonly again?: Parameters<TimerFiring['again']>[0]
  readonly end?: boolean
}

/** Why a leased attempt fails, and what follows. */
export interface Release {
  /** The delay before the next attempt, instead of the policy's. */
  readonly in: Duration | undefined
  readonly reason: string
  /** Turns the timer into a dead letter at once, whatever the policy. */
  readonly isDead: boolean
}

/** A firing that a worker has leased. */
interface GivenLease {
  readonly firing: TimerFiring
  readonly kind: LeasedKind
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/**
 * Leases due firings to workers that ask for them, each to one worker for a time. It takes nothing from the engine before
 * a worker wants it: until then a timer waits like any other that is due, and can be moved and cancelled. A worker lease
 * ends once: by its worker's answer, or as a failed attempt when its time is over. A receipt of a lease that has ended, or
 * whose shard is no longer here, has no effect.
 *
 * Proven by test/delivery/lease.test.ts and test/delivery/on-servers.test.ts.
 */
export class LeaseBroker {
  readonly #clock: Clock
  readonly #receipts: Receipts
  readonly #onWanted: (kind: string) => void
  readonly #kinds = new Map<string, LeasedKind>()
  readonly #leases: TimingWheel<string, GivenLease>
  #waiting = 0
  #isStopping = false
  #isOver = false

  /** `onWanted` is called when workers want more or fewer firings of a kind. It may deliver some at once. */
  constructor(parts: { clock: Clock; member: string; onWanted: (kind: string) => void }) {
    this.#clock = parts.clock
    this.#receipts = new Receipts(parts.member)
    this.#onWanted = parts.onWanted
    this.#leases = new TimingWheel({
      clock: parts.clock,
      intervalMs: EXPIRY_INTERVAL_MS,
      keepAlive: false,
      execute: (_, given) => this.#expired(given),
    })
  }

  /** How many firings workers have leased here. */
  get leased(): number {
    return this.#leases.size
  }

  /** How many workers wait for firings here. */
  get waiting(): number {
    return this.#waiting
  }

  /** The handler that leases the firings of a kind to workers. */
  handlerOf(base: Omit<Handler, 'one' | 'many'>, target: LeaseTarget): Handler {
    const kind = this.#kindOf(base.kind)
    const most = Math.min(base.concurrency, target.concurrency)
    return {
      ...base,
      one: (firing) => this.#give(kind, target, firing),
      many: undefined,
      isForWorkers: true,
      mayStart: () => {
        if (kind.first !== undefined) return true
        this.#callScouts(kind)
        return false
      },
      // The worker checks the payload itself.
      check: undefined,
      get concurrency() {
        return Math.min(most, kind.demand)
      },
    }
  }

  /** Leases firings of some kinds, as soon as there are any; none when the wait is over. */
  take(request: LeaseRequest): Promise<readonly LeasedFiring[]> {
    const kinds = [...new Set(request.kinds)].map((name) => this.#kindOf(name))
    const worker = new WaitingWorker(request, kinds)
    if (request.waitMs > 0 && this.#waiting >= MAX_WAITING)
      throw new LimitError(
        'too-many-waiting',
        `${this.#waiting} workers wait for firings here already, of at most ${MAX_WAITING}`,
      )
    for (const kind of kinds) kind.join(worker)
    for (const kind of kinds) if (worker.wants > 0) this.#onWanted(kind.name)
    const isOver = worker.firings.length > 0 || request.waitMs <= 0 || this.#isStopping
    if (isOver || request.signal?.aborted === true) this.#answer(worker)
    else {
      this.#waiting++
      worker.wait(this.#clock, () => this.#answer(worker))
    }
    return worker.answer
  }

  /**
   * Calls `onDue` once, when a firing of the kind is due that no worker here waits for. The firing is not started.
   * Returns a function that ends the watch.
   */
  scout(name: string, onDue: () => void): () => void {
    const kind = this.#kindOf(name)
    kind.addScout(onDue)
    this.#onWanted(name)
    return () => {
      if (kind.removeScout(onDue)) this.#onWanted(name)
    }
  }

  /** The firing is done. With `again` it fires once more, with `end` its timer ends. Answers false for a stale receipt. */
  ack(receipt: string, { again, end }: Acknowledgement = {}): boolean {
    const given = this.#find(receipt)
    if (given === undefined) return false
    if (again !== undefined) given.firing.again(again)
    if (end === true) given.firing.end()
    this.#end(receipt, given)
    given.resolve()
    return true
  }

  /** The lease ends `leaseMs` from now. Answers false for a stale receipt. */
  extend(receipt: string, leaseMs: number): boolean {
    if (this.#find(receipt) === undefined) return false
    // With less than the wheel's interval, the lease would end within this call.
    return this.#leases.move(receipt, Math.max(leaseMs, EXPIRY_INTERVAL_MS))
  }

  /** The attempt has failed. Answers false for a stale receipt. */
  release(receipt: string, { in: delay, reason, isDead }: Release): boolean {
    const given = this.#find(receipt)
    if (given === undefined) return false
    const error = isDead
      ? new Dead(reason)
      : delay === undefined
        ? new Error(reason)
        : new RetryAfter(delay, reason)
    this.#end(receipt, given)
    given.reject(error)
    return true
  }

  /** Answers waiting workers. Workers may still answer for the firings that they have leased. */
  stopWaiting(): void {
    this.#isStopping = true
    for (const kind of this.#kinds.values()) for (const worker of kind.workers) this.#answer(worker)
  }

  stop(): void {
    this.stopWaiting()
    this.#isOver = true
    this.#leases.stop()
  }

  #give(kind: LeasedKind, target: LeaseTarget, firing: TimerFiring): Promise<void> {
    const worker = kind.first
    if (worker === undefined) throw new Error(`nobody wants ${kind.name}: leased=${kind.leased}`)
    const leaseMs = worker.request.leaseMs ?? target.durationMs
    const receipt = this.#receipts.next()
    kind.leased++
    worker.firings.push(leasedFiringOf(firing, receipt, this.#clock.now() + leaseMs))
    for (const each of worker.kinds) {
      each.got(worker)
      // The demand for this kind is unchanged: one firing wanted less, one held more.
      if (each !== kind) this.#onWanted(each.name)
    }
    // Firings that are due at the same moment share the answer.
    if (worker.firings.length === 1) queueMicrotask(() => this.#answer(worker))
    return new Promise((resolve, reject) => {
      const given: GivenLease = { firing, kind, resolve, reject }
      this.#leases.set(receipt, given, leaseMs)
      const abort = (reason: Error): void => {
        if (this.#isOver || this.#leases.get(receipt) !== given) return
        this.#end(receipt, given)
        reject(reason)
      }
      TimerFiring.onAbort(firing, { abort })
    })
  }

  /** In a microtask: the kind is being delivered at the moment. */
  #callScouts(kind: LeasedKind): void {
    const scouts = kind.takeScouts()
    queueMicrotask(() => {
      this.#onWanted(kind.name)
      for (const onDue of scouts) onDue()
    })
  }

  #answer(worker: WaitingWorker): void {
    if (worker.isOver) return
    for (const kind of worker.kinds) {
      kind.leave(worker)
      this.#onWanted(kind.name)
    }
    if (worker.isWaiting) this.#waiting--
    worker.end()
  }

  #kindOf(name: string): LeasedKind {
    let kind = this.#kinds.get(name)
    if (kind === undefined) this.#kinds.set(name, (kind = new LeasedKind(name)))
    return kind
  }

  /** A lease that is still valid. */
  #find(receipt: string): GivenLease | undefined {
    if (typeof receipt !== 'string')
      throw new InvalidInputError('invalid-receipt', `a receipt must be a string, got ${shown(receipt)}`)
    const given = this.#leases.get(receipt)
    // Its shard may have moved to another instance, which leases the firing to another worker.
    return given !== undefined && TimerFiring.firingOf(given.firing).isLive ? given : undefined
  }

  #end(receipt: string, given: GivenLease): void {
    this.#leases.remove(receipt)
    this.#ended(given)
  }

  #ended({ kind }: GivenLease): void {
    kind.leased--
    this.#onWanted(kind.name)
  }

  #expired(given: GivenLease): void {
    this.#ended(given)
    given.reject(new StateError('lease-ended', 'the lease ended before the worker answered'))
  }
}
