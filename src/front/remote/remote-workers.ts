import type { Client, LeasedTimer } from '../../client/index.js'
import { type Handler, Handlers } from '../../delivery/index.js'
import { CarillonError, StateError } from '../../error/index.js'
import type { Clock, Wake } from '../../time/index.js'
import type { Outcome, RetryPolicy } from '../../timer/index.js'
import type { Drained } from '../drain.js'
import type { Listeners } from '../listeners.js'
import { HeldFiring } from './held-firing.js'
import { prepareLease } from './lease-target.js'

const MOST_AT_ONCE = 1000
const WAIT_MS = 20_000
const SHORTEST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 5000
const LONGEST_REASON = 1000
// Leases that nobody asked to extend for a third of their time are; looked at twice as often as that.
const EXTENSIONS = 3
// Handlers have half of this to end by themselves when it stops, and half to end because they are told to.
const STOP_MS = 30_000

/** The server follows the retry policy: here an attempt has failed, or is given up by the handler itself. */
const serverDecides: RetryPolicy = Object.freeze({
  attempts: Infinity,
  minMs: 0,
  maxMs: 0,
  maxDurationMs: Infinity,
})

interface WorkersParts {
  readonly client: Client
  readonly clock: Clock
  readonly random: () => number
  readonly listeners: Listeners
  readonly leaseMs: number
}

/**
 * Runs handlers in this process for timers of a server: one call for each kind waits for what is due, no more than the
 * kind's concurrency is taken, leases are extended while a handler runs, and what it came to is told to the server.
 */
export class RemoteWorkers {
  readonly #parts: WorkersParts
  readonly #handlers: Handlers
  readonly #policies = new Map<string, RetryPolicy>()
  readonly #held = new Map<HeldFiring, Promise<void>>()
  readonly #counts = new Map<string, number>()
  readonly #freed = new Map<string, () => void>()
  readonly #polls = new AbortController()
  readonly #loops: Promise<void>[] = []
  #heartbeat: Wake | undefined
  #isStarted = false
  #isStopping = false

  constructor(parts: WorkersParts) {
    const { clock, random, listeners } = parts
    this.#parts = parts
    this.#handlers = new Handlers({
      clock,
      random,
      onFailure: (firing, error, outcome) => listeners.tell({ type: 'failed', firing, error, outcome }),
    })
  }

  add(handler: Handler): void {
    this.#handlers.add({ ...handler, retry: serverDecides })
    this.#policies.set(handler.kind, handler.retry)
    if (this.#isStarted) this.#loops.push(this.#loop(handler.kind, false))
  }

  /** Takes what is due from now on; fails where the server does not keep a kind for workers. */
  async start(): Promise<void> {
    if (this.#isStarted) return
    this.#isStarted = true
    await this.#prepareAll()
    this.#beat()
    for (const kind of this.#policies.keys()) this.#loops.push(this.#loop(kind, true))
  }

  /** One bounded pass over what is due now. */
  async drain(maxTimeMs: number, maxTimers: number): Promise<Drained> {
    const { client, clock, leaseMs } = this.#parts
    const until = clock.monotonic() + maxTimeMs
    await this.#prepareAll()
    this.#beat()
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
        const max = Math.min(this.#free(kind), MOST_AT_ONCE, maxTimers - fired)
        const leased = await client.lease(kind, { max, duration: leaseMs })
        fired += leased.length
        if (leased.length === 0) break
        this.#deliver(leased)
      }
    }
    while (this.#held.size > 0) await Promise.all(this.#held.values())
    this.#heartbeat?.cancel()
    return { fired, isCaughtUp }
  }

  /** Takes nothing more, and waits for the handlers under way, within bounds. */
  async stop(): Promise<void> {
    const { clock } = this.#parts
    const reason = new StateError('stopped', 'these timers are being stopped')
    this.#isStopping = true
    this.#polls.abort(reason)
    for (const free of this.#freed.values()) free()
    const patience = clock.wakeAfter(STOP_MS / 2, () => this.#handlers.abortAll(reason))
    let giveUp: Wake | undefined
    const isOver = new Promise<void>((resolve) => {
      giveUp = clock.wakeAfter(STOP_MS, resolve)
    })
    // A call that was answered as it was called off may still bring some.
    const ended = (async () => {
      await Promise.all(this.#loops)
      while (this.#held.size > 0) await Promise.all(this.#held.values())
    })()
    await Promise.race([ended, isOver])
    patience.cancel()
    giveUp?.cancel()
    this.#heartbeat?.cancel()
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
        const max = Math.min(free, MOST_AT_ONCE, Math.ceil(rate ?? MOST_AT_ONCE))
        const signal = this.#polls.signal
        const leased = await client.lease(kind, { max, wait: WAIT_MS, duration: leaseMs, signal })
        failures = 0
        this.#deliver(leased)
        if (rate !== undefined) await this.#pause((leased.length / rate) * 1000)
      } catch (error) {
        if (this.#isStopping) return
        listeners.trouble('lease', error)
        // A server that lost its store, or whose target somebody took away, is told again.
        isReady = !(error instanceof CarillonError && ['not-leased', 'unknown-kind'].includes(error.code))
        failures++
        await this.#pause(
          SHORTEST_PAUSE_MS +
            this.#parts.random() * Math.min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS * 2 ** failures),
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
    let settled: (() => void) | undefined
    const held = new HeldFiring(leased, now, (of, outcome) => void this.#settle(of, outcome).finally(settled))
    this.#counts.set(leased.kind, this.#countOf(leased.kind) + 1)
    const over = new Promise<void>((resolve) => {
      settled = resolve
    })
    this.#held.set(held, over)
    return held
  }

  /** Tells the server what came of it. What it cannot be told, the end of the lease tells it: it is tried again. */
  async #settle(held: HeldFiring, outcome: Outcome): Promise<void> {
    try {
      if (!held.isLost && (await this.#told(held, outcome)) === 'stale') this.#lost(held)
    } catch (error) {
      this.#parts.listeners.trouble('ack', error)
    } finally {
      const { kind } = held.row
      this.#held.delete(held)
      this.#counts.set(kind, this.#countOf(kind) - 1)
      this.#freed.get(kind)?.()
    }
  }

  async #told({ receipt }: HeldFiring, outcome: Outcome): Promise<string> {
    const { client, clock } = this.#parts
    switch (outcome.type) {
      case 'done':
        return await client.ack(receipt)
      case 'next':
        return await client.ack(receipt, { again: { at: outcome.dueAt } })
      case 'dead':
        return await client.release(receipt, { dead: true, reason: shortened(outcome.reason) })
      case 'retry': {
        const delayMs = outcome.dueAt - clock.now()
        const reason = shortened(outcome.reason)
        return await client.release(receipt, delayMs > 0 ? { in: delayMs, reason } : { reason })
      }
    }
  }

  #lost(held: HeldFiring): void {
    const { namespace, kind, key } = held.row
    held.isLost = true
    this.#parts.listeners.tell({ type: 'lease-lost', namespace, kind, key, attempt: held.attempt })
  }

  /** Extends the leases of what takes long; who lost one is told to end. */
  #beat(): void {
    const { clock, leaseMs } = this.#parts
    const beat = (): void => {
      const now = clock.monotonic()
      for (const held of this.#held.keys())
        if (held.isLive && now - held.leasedAt >= leaseMs / EXTENSIONS) void this.#extend(held, now)
      this.#beat()
    }
    this.#heartbeat?.cancel()
    this.#heartbeat = clock.wakeAfter(leaseMs / EXTENSIONS / 2, beat, { keepAlive: false })
  }

  async #extend(held: HeldFiring, now: number): Promise<void> {
    const { client, leaseMs, listeners } = this.#parts
    held.leasedAt = now
    try {
      if ((await client.extend(held.receipt, leaseMs)) !== 'stale' || !held.isLive) return
      this.#lost(held)
      this.#handlers.abort(held, new StateError('lease-ended', 'the lease of this firing has ended'))
    } catch (error) {
      listeners.trouble('extend', error)
    }
  }

  #free(kind: string): number {
    return this.#handlers.concurrencyOf(kind) - this.#countOf(kind)
  }

  #countOf(kind: string): number {
    return this.#counts.get(kind) ?? 0
  }

  async #whenFree(kind: string): Promise<void> {
    await new Promise<void>((resolve) => this.#freed.set(kind, resolve))
    this.#freed.delete(kind)
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
  return reason.slice(0, LONGEST_REASON)
}
