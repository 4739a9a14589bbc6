import type { LeasedFiring } from '../../delivery/index.js'
import type { PeerMember, TimerEngine } from '../../engine/index.js'
import type { Timers } from '../../front/index.js'
import type { Clock, Duration } from '../../time/index.js'
import { LEASE_ASK_AGAIN_MS, MAX_LEASED_PER_MESSAGE, MAX_QUIET_NAMES } from '../defaults.js'
import type { HttpPeers } from './http-peers.js'
import { issuerOf } from './lease-action.js'
import type { LeaseRouter } from './lease-router.js'
import type { DueRequest, TakeRequest } from './peer-message.js'

/** What a worker asks for. */
export interface LeaseRequest {
  readonly namespace: string
  readonly kinds: readonly string[]
  readonly max: number
  readonly waitMs: number
  readonly duration: Duration | undefined
  /** Ends the wait: the worker is gone. */
  readonly signal: AbortSignal
}

interface Waiting {
  readonly namespace: string
  readonly kinds: readonly string[]
  readonly wake: () => void
}

/**
 * Finds due firings for workers wherever their shards are owned. It asks the other instances one after the other, for no
 * more than the worker still wants. An instance that has none reports the next one, so it is asked again only then, or
 * after `LEASE_ASK_AGAIN_MS`, because a report may get lost.
 *
 * Proven by test/server/lease-anywhere.test.ts.
 */
export class LeaseFinder {
  readonly #peers: HttpPeers | undefined
  readonly #router: LeaseRouter
  readonly #clock: Clock
  // Until when an instance need not be asked for a kind. By instance, namespace and kind.
  readonly #quietUntil = new Map<string, number>()
  // The one that has waited longest is first.
  readonly #waiting = new Set<Waiting>()
  #turn = 0

  constructor(peers: HttpPeers | undefined, router: LeaseRouter, clock: Clock) {
    this.#peers = peers
    this.#router = router
    this.#clock = clock
  }

  async lease(timers: Timers, request: LeaseRequest): Promise<readonly LeasedFiring[]> {
    // With the strategy `claim`, each instance can lease every timer.
    if (this.#peers === undefined || timers.engine.settings.strategy === 'claim')
      return await leaseHere(timers, request, request.max, request.waitMs, request.signal)
    const until = this.#clock.monotonic() + request.waitMs
    try {
      for (;;) {
        let firings = await this.#confirm(timers, request, await this.#collect(timers, request))
        const leftMs = until - this.#clock.monotonic()
        if (firings.length > 0 || leftMs <= 0 || request.signal.aborted) return firings
        // A report may have come while another instance was asked.
        if (this.#membersToAsk(timers.engine, request).length > 0) continue
        firings = await this.#wait(timers, request, Math.min(leftMs, LEASE_ASK_AGAIN_MS))
        if (firings.length > 0) return firings
      }
    } finally {
      // An instance that was not asked to the end may have more.
      if (this.#membersToAsk(timers.engine, request).length > 0) this.#wakeNext(request)
    }
  }

  /** Another instance has a firing that no worker there waits for. */
  reportDue({ from, namespace, kind }: DueRequest): void {
    this.#quietUntil.delete(nameOf(from, namespace, kind))
    this.#wakeNext({ namespace, kinds: [kind] })
  }

  /** Leases what is due now, here and at other instances. They take turns in being first, so that none starves. */
  async #collect(timers: Timers, request: LeaseRequest): Promise<readonly LeasedFiring[]> {
    const members = this.#membersToAsk(timers.engine, request)
    const others = (from: number, to: number) => members.slice(from, to)
    const before = this.#turn++ % (members.length + 1)
    const firings: LeasedFiring[] = []
    for (const member of others(0, before)) await this.#take(timers, request, member, firings)
    const left = request.max - firings.length
    if (left > 0) firings.push(...(await leaseHere(timers, request, left, 0, request.signal)))
    for (const member of others(before, members.length)) await this.#take(timers, request, member, firings)
    return firings
  }

  /**
   * Confirms the leases of other instances right before the worker is answered. Those that have ended meanwhile, and all
   * of them if the worker is gone, are left out: their instances deliver these firings again.
   */
  async #confirm(
    timers: Timers,
    { namespace, signal }: LeaseRequest,
    firings: readonly LeasedFiring[],
  ): Promise<readonly LeasedFiring[]> {
    const { engine } = timers
    const isForeign = ({ receipt }: LeasedFiring): boolean => issuerOf(receipt) !== engine.memberId
    const foreign = firings.filter(isForeign)
    if (foreign.length === 0) return firings
    const actions = foreign.map(({ receipt, leaseUntil }) => {
      const duration = Math.max(1, Math.round(leaseUntil - engine.storeNow()))
      return { receipt, action: { type: 'extend', duration } as const }
    })
    const results = signal.aborted ? [] : await this.#router.applyAll(timers, namespace, actions, { signal })
    const confirmed = new Set(
      foreign.filter((_, at) => {
        const result = results[at]
        return result !== undefined && 'outcome' in result && result.outcome === 'extended'
      }),
    )
    return firings.filter((firing) => !isForeign(firing) || confirmed.has(firing))
  }

  /** Leases firings of another instance, until the worker has enough or that instance has no more. */
  async #take(
    { engine }: Timers,
    { namespace, kinds, max, duration }: LeaseRequest,
    member: PeerMember,
    firings: LeasedFiring[],
  ): Promise<void> {
    while (firings.length < max) {
      const wanted = Math.min(max - firings.length, MAX_LEASED_PER_MESSAGE)
      const ask: TakeRequest = {
        type: 'take',
        from: engine.memberId,
        namespace,
        kinds,
        max: wanted,
        ...(duration !== undefined && { duration }),
      }
      // Before the message: a report that overtakes the answer must count.
      const until = this.#clock.monotonic() + LEASE_ASK_AGAIN_MS
      this.#forgetOld()
      for (const kind of kinds) this.#quietUntil.set(nameOf(member.id, namespace, kind), until)
      const deadline = Math.ceil(engine.storeNow() + engine.settings.requestTimeoutMs)
      const result = await this.#peers!.send(member, deadline, ask)
      const given = result.outcome === 'answered' ? (result.reply.firings ?? []) : []
      firings.push(...given)
      if (given.length < wanted) return
      for (const kind of kinds) this.#quietUntil.delete(nameOf(member.id, namespace, kind))
    }
  }

  /** Waits for a firing of this instance, or until another instance reports one. */
  async #wait(timers: Timers, request: LeaseRequest, waitMs: number): Promise<readonly LeasedFiring[]> {
    const woken = new AbortController()
    const wake = (): void => woken.abort()
    const waiting: Waiting = { namespace: request.namespace, kinds: request.kinds, wake }
    this.#waiting.add(waiting)
    request.signal.addEventListener('abort', wake)
    try {
      return await leaseHere(timers, request, request.max, waitMs, woken.signal)
    } finally {
      this.#waiting.delete(waiting)
      request.signal.removeEventListener('abort', wake)
    }
  }

  /** Wakes the worker that has waited longest for one of these kinds. It wakes the next one if there is more. */
  #wakeNext({ namespace, kinds }: Pick<LeaseRequest, 'namespace' | 'kinds'>): void {
    for (const waiting of this.#waiting) {
      if (waiting.namespace !== namespace || !waiting.kinds.some((kind) => kinds.includes(kind))) continue
      this.#waiting.delete(waiting)
      waiting.wake()
      return
    }
  }

  /** Drops what is over, once it is much. */
  #forgetOld(): void {
    if (this.#quietUntil.size < MAX_QUIET_NAMES) return
    const now = this.#clock.monotonic()
    for (const [name, until] of this.#quietUntil) if (until <= now) this.#quietUntil.delete(name)
  }

  /** The other instances that may have a firing for the worker. */
  #membersToAsk(engine: TimerEngine, { namespace, kinds }: LeaseRequest): readonly PeerMember[] {
    const now = this.#clock.monotonic()
    const members: PeerMember[] = []
    for (const id of engine.memberIds) {
      const member = id === engine.memberId ? undefined : engine.peerOf(id)
      if (member === undefined) continue
      const isQuiet = (kind: string): boolean =>
        (this.#quietUntil.get(nameOf(id, namespace, kind)) ?? 0) > now
      if (!kinds.every(isQuiet)) members.push(member)
    }
    return members
  }
}

async function leaseHere(
  timers: Timers,
  { kinds, duration }: LeaseRequest,
  max: number,
  waitMs: number,
  signal: AbortSignal,
): Promise<readonly LeasedFiring[]> {
  return await timers.lease(kinds, {
    max,
    wait: waitMs,
    ...(duration !== undefined && { duration }),
    signal,
  })
}

function nameOf(member: string, namespace: string, kind: string): string {
  return JSON.stringify([member, namespace, kind])
}
