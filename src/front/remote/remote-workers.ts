import type { Client, LeaseAnswer, LeasedTimer } from '../../client/index.js'
import { type Handler, Handlers, type HandlerThreads } from '../../delivery/index.js'
import { CarillonError, StateError } from '../../error/index.js'
import type { Clock, Wake } from '../../time/index.js'
import type { Outcome, RetryPolicy } from '../../timer/index.js'
import {
  MAX_REASON_LENGTH,
  MAX_LEASED_AT_ONCE,
  REMOTE_EXTEND_AFTER,
  REMOTE_MAX_PAUSE_MS,
  REMOTE_MIN_PAUSE_MS,
  REMOTE_STOP_MS,
  REMOTE_WAIT_MS,
} from '../defaults.js'
import type { Drained, DrainBounds } from '../deliver/drain.js'
import { threadHandlerOf, threadsOf } from '../deliver/handler-of.js'
import type { Listeners } from '../event/listeners.js'
import type { UnknownKind } from '../kind/kind.js'
import { HeldFiring } from './held-firing.js'
import { LeaseAnswers } from './lease-answers.js'
import { prepareLease } from './lease-target.js'

/** A policy that never ends: the server follows the kind's own policy. Here, only a handler can end the retries. */
const serverDecides: RetryPolicy = Object.freeze({
  attempts: Infinity,
  minMs: 0,
  maxMs: 0,
  maxDurationMs: Infinity,
  isCutByNext: false,
})

interface WorkersParts {
  readonly client: Client
  readonly clock: Clock
  readonly random: () => number
  readonly listeners: Listeners
  readonly leaseMs: number
}

/**
 * Runs handlers in this process for timers of a server. For each kind, one request waits for due firings and leases at
 * most as many as the kind's concurrency allows. Leases are extended while their handlers run. Each outcome is reported
 * to the server, many in one request. Proven by test/client/remote-workers.test.ts, test/client/requests.test.ts
 * and test/client/restart.test.ts.
 */
export class RemoteWorkers {
  readonly #parts: WorkersParts
  readonly #handlers: Handlers
  readonly #answers: LeaseAnswers
  readonly #policies = new Map<string, RetryPolicy>()
  #postponed: HeldFiring[] = []
  readonly #held = new Map<HeldFiring, Promise<void>>()
  readonly #heldByKind = new Map<string, number>()
  readonly #onFree = new Map<string, () => void>()
  readonly #polls = new AbortController()
  readonly #loops: Promise<void>[] = []
  readonly #threads: HandlerThreads[] = []
  #extensions: Wake | undefined
  #isStarted = false
  #isStopping = false

  constructor(parts: WorkersParts) {
    const { clock, random, listeners } = parts
    this.#parts = parts
    this.#answers = new LeaseAnswers(parts)
    this.#handlers = new Handlers({
      clock,
      random,
      onFailure: (firing, error, outcome) => listeners.emit({ type: 'failed', firing, error, outcome }),
    })
  }

  add(handler: Handler): void {
    this.#handlers.add({ ...handler, retry: serverDecides })
    this.#policies.set(handler.kind, handler.retry)
    if (this.#isStarted) this.#loops.push(this.#loop(handler.kind, false))
  }

  /** Adds a handler on threads, once they have loaded its module. */
  async addModule(kind: UnknownKind, module: URL, threads: number): Promise<void> {
    this.#handlers.checkFree(kind.name)
    const started = await threadsOf(kind, module, threads, this.#parts.clock)
    try {
      if (this.#isStopping) throw new StateError('stopped', 'these timers were stopped: open new ones')
      this.add(threadHandlerOf(kind, threads, started))
    } catch (error) {
      await started.stop()
      throw error
    }
    this.#threads.push(started)
  }

  /** Starts to lease due firings. Fails if a kind has another target on the server. */
  async start(): Promise<void> {
    if (this.#isStarted) return
    this.#isStarted = true
    await this.#prepareAll()
    this.#scheduleExtensions()
    for (const kind of this.#policies.keys()) this.#loops.push(this.#loop(kind, true))
  }

  /** Makes one bounded pass over the timers that are due now. */
  async drain({ maxTimeMs, maxTimers }: DrainBounds): Promise<Drained> {
    const { client, clock, leaseMs } = this.#parts
    const until = clock.monotonic() + maxTimeMs
    await this.#prepareAll()
    this.#scheduleExtensions()
    let fired = 0
    let isCaughtUp = true
    for (const kind of this.#policies.keys()) {
      for (;;) {
        if (fired >= maxTimers || clock.monotonic() >= until) {
          isCaughtUp = false
          break
        }
        if (this.#free(kind) <= 0) {
          await this.#whenFree(kind)
          continue
        }
        const max = Math.min(this.#free(kind), MAX_LEASED_AT_ONCE, maxTimers - fired)
        const leased = await client.lease(kind, { max, duration: leaseMs })
        fired += leased.length
        if (leased.length === 0) break
        this.#deliver(leased)
      }
    }
    while (this.#held.size > 0) await Promise.all(this.#held.values())
    this.#extensions?.cancel()
    return { fired, isCaughtUp }
  }

  /** Leases nothing more, and waits for running handlers for a limited time. */
  async stop(): Promise<void> {
    const { clock } = this.#parts
    const reason = new StateError('stopped', 'these timers are being stopped')
    this.#isStopping = true
    this.#polls.abort(reason)
    for (const free of this.#onFree.values()) free()
    const patience = clock.wakeAfter(REMOTE_STOP_MS / 2, () => this.#handlers.abortAll(reason))
    let giveUp: Wake | undefined
    const timedOut = new Promise<void>((resolve) => {
      giveUp = clock.wakeAfter(REMOTE_STOP_MS, resolve)
    })
    // A request that is aborted while its answer arrives may still bring firings.
    const ended = (async () => {
      await Promise.all(this.#loops)
      while (this.#held.size > 0) await Promise.all(this.#held.values())
    })()
    await Promise.race([ended, timedOut])
    patience.cancel()
    giveUp?.cancel()
    this.#extensions?.cancel()
    await Promise.all(this.#threads.map((threads) => threads.stop()))
  }

  async #prepareAll(): Promise<void> {
    const { client } = this.#parts
    for (const [kind, retry] of this.#policies) await prepareLease(client, kind, retry)
  }

  async #loop(kind: string, isPrepared: boolean): Promise<void> {
    const { client, leaseMs, listeners } = this.#parts
    let failures = 0
    let isReady = isPrepared
    while (!this.#isStopping) {
      const free = this.#free(kind)
      if (free <= 0) {
        await this.#whenFree(kind)
        continue
      }
      const rate = this.#handlers.rateOf(kind)
      try {
        if (!isReady) await prepareLease(client, kind, this.#policies.get(kind)!)
        isReady = true
        const max = Math.min(free, MAX_LEASED_AT_ONCE, Math.ceil(rate ?? MAX_LEASED_AT_ONCE))
        const signal = this.#polls.signal
        const leased = await client.lease(kind, { max, wait: REMOTE_WAIT_MS, duration: leaseMs, signal })
        failures = 0
        this.#deliver(leased)
        if (rate !== undefined) await this.#pause((leased.length / rate) * 1000)
      } catch (error) {
        if (this.#isStopping) return
        listeners.emitStoreError('lease', error)
        // The server may have lost its store, or the target was removed: set the target again.
        isReady = !(error instanceof CarillonError && ['not-leased', 'unknown-kind'].includes(error.code))
        failures++
        await this.#pause(
          REMOTE_MIN_PAUSE_MS +
            this.#parts.random() * Math.min(REMOTE_MAX_PAUSE_MS, REMOTE_MIN_PAUSE_MS * 2 ** failures),
        )
      }
    }
  }

  #deliver(leased: readonly LeasedTimer[]): void {
    if (leased.length === 0) return
    const now = this.#parts.clock.monotonic()
    const firings = leased.map((each) => this.#hold(each, now))
    this.#handlers.deliver(firings)
  }

  #hold(leased: LeasedTimer, now: number): HeldFiring {
    let resolveReported: (() => void) | undefined
    const { clock, leaseMs } = this.#parts
    const held = new HeldFiring(leased, now, {
      isLeased: ({ leasedAt }) => {
        const isLeased = clock.monotonic() - leasedAt < leaseMs
        // The server leases it to another worker now.
        if (!isLeased) this.#forget(held)
        return isLeased
      },
      onPostpone: (postponed) => this.#postpone(postponed),
      onReport: (of, outcome) => void this.#settle(of, outcome).finally(resolveReported),
    })
    this.#heldByKind.set(leased.kind, this.#heldOf(leased.kind) + 1)
    const reported = new Promise<void>((resolve) => {
      resolveReported = resolve
    })
    this.#held.set(held, reported)
    return held
  }

  /** Delivers the firing again in the next turn of the event loop. */
  #postpone(held: HeldFiring): void {
    if (this.#postponed.push(held) > 1) return
    void this.#deliverPostponed()
  }

  async #deliverPostponed(): Promise<void> {
    await this.#parts.clock.turnEnd()
    const postponed = this.#postponed
    this.#postponed = []
    const startable = postponed.filter((held) => held.start())
    for (const kind of new Set(startable.map(({ row }) => row.kind)))
      this.#handlers.deliver(startable.filter(({ row }) => row.kind === kind))
  }

  /** Ends a firing whose lease ended before its attempt started. */
  #forget(held: HeldFiring): void {
    this.#markLost(held)
    held.report({ type: 'retry', dueAt: 0, reason: 'the lease ended before the attempt started' })
  }

  /** Reports the outcome to the server. If that fails, the lease ends, and the server retries the timer. */
  async #settle(held: HeldFiring, outcome: Outcome): Promise<void> {
    try {
      if (held.isLost) return
      if ((await this.#answers.send(this.#answerOf(held, outcome))) === 'stale') this.#markLost(held)
    } catch (error) {
      this.#parts.listeners.emitStoreError('ack', error)
    } finally {
      const { kind } = held.row
      this.#held.delete(held)
      this.#heldByKind.set(kind, this.#heldOf(kind) - 1)
      this.#onFree.get(kind)?.()
    }
  }

  #answerOf({ receipt }: HeldFiring, outcome: Outcome): LeaseAnswer {
    switch (outcome.type) {
      case 'done':
        return { do: 'ack', receipt, ...(outcome.isEnd === true && { end: true }) }
      case 'next':
        return { do: 'ack', receipt, again: { at: outcome.dueAt } }
      case 'dead':
        return { do: 'release', receipt, dead: true, reason: shortened(outcome.reason) }
      case 'retry': {
        const delayMs = outcome.dueAt - this.#parts.clock.now()
        const reason = shortened(outcome.reason)
        return { do: 'release', receipt, reason, ...(delayMs > 0 && { in: delayMs }) }
      }
    }
  }

  #markLost(held: HeldFiring): void {
    const { namespace, kind, key } = held.row
    held.isLost = true
    this.#parts.listeners.emit({ type: 'lease-lost', namespace, kind, key, attempt: held.attempt })
  }

  /** Extends the leases of long attempts. If a lease is lost, its handler's signal is aborted. */
  #scheduleExtensions(): void {
    const { clock, leaseMs } = this.#parts
    const extendAll = (): void => {
      const now = clock.monotonic()
      for (const held of this.#held.keys())
        if (held.isLive && now - held.leasedAt >= leaseMs * REMOTE_EXTEND_AFTER) void this.#extend(held, now)
      this.#scheduleExtensions()
    }
    this.#extensions?.cancel()
    this.#extensions = clock.wakeAfter((leaseMs * REMOTE_EXTEND_AFTER) / 2, extendAll, { keepAlive: false })
  }

  async #extend(held: HeldFiring, now: number): Promise<void> {
    const { leaseMs, listeners } = this.#parts
    held.leasedAt = now
    try {
      const { receipt } = held
      const outcome = await this.#answers.send({ do: 'extend', receipt, duration: leaseMs })
      if (outcome !== 'stale' || !held.isLive) return
      this.#markLost(held)
      this.#handlers.abort(held, new StateError('lease-ended', 'the worker lease of this firing has ended'))
    } catch (error) {
      listeners.emitStoreError('extend', error)
    }
  }

  #free(kind: string): number {
    return this.#handlers.concurrencyOf(kind) - this.#heldOf(kind)
  }

  #heldOf(kind: string): number {
    return this.#heldByKind.get(kind) ?? 0
  }

  async #whenFree(kind: string): Promise<void> {
    await new Promise<void>((resolve) => this.#onFree.set(kind, resolve))
    this.#onFree.delete(kind)
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const { signal } = this.#polls
      if (signal.aborted) {
        resolve()
        return
      }
      const end = (): void => {
        wake.cancel()
        signal.removeEventListener('abort', end)
        resolve()
      }
      const wake = this.#parts.clock.wakeAfter(ms, end)
      signal.addEventListener('abort', end)
    })
  }
}

function shortened(reason: string): string {
  return reason.slice(0, MAX_REASON_LENGTH)
}
