import type { LeasedFiring } from '../../delivery/index.js'
import type { TimerEngine } from '../../engine/index.js'
import { CarillonError } from '../../error/index.js'
import type { Timers } from '../../front/index.js'
import type { Clock, Wake } from '../../time/index.js'
import { LEASE_WATCH_MS, UNCONFIRMED_LEASE_MS } from '../defaults.js'
import type { HttpPeers } from './http-peers.js'
import type { TakeRequest } from './peer-message.js'

interface Watch {
  readonly end: () => void
  wake: Wake
}

/**
 * Leases firings of this instance's shards to workers that wait at another instance. If there are fewer than that
 * instance asked for, it gets a message when the next one is due and no worker waits here. A long lease is short until
 * that instance confirms it.
 *
 * Proven by test/server/lease-anywhere.test.ts.
 */
export class LeaseTaker {
  readonly #peers: HttpPeers
  readonly #engine: TimerEngine
  readonly #clock: Clock
  // One for each instance, namespace and kind.
  readonly #watches = new Map<string, Watch>()

  constructor(peers: HttpPeers, engine: TimerEngine, clock: Clock) {
    this.#peers = peers
    this.#engine = engine
    this.#clock = clock
  }

  async take(request: TakeRequest, timers: Timers): Promise<readonly LeasedFiring[]> {
    const { kinds, max, duration } = request
    try {
      const firings = await timers.lease(kinds, { max, ...(duration !== undefined && { duration }) })
      if (firings.length < max) for (const kind of kinds) this.#watch(timers, request, kind)
      await this.#shorten(timers, firings)
      return firings
    } catch (error) {
      // This instance may not have read the target of a kind yet.
      if (!(error instanceof CarillonError)) throw error
      return []
    }
  }

  /** Until the other instance confirms a lease, nobody knows whether a worker has the firing. */
  async #shorten(timers: Timers, firings: readonly LeasedFiring[]): Promise<void> {
    for (const { receipt, leaseUntil } of firings) {
      if (leaseUntil - this.#engine.storeNow() > UNCONFIRMED_LEASE_MS)
        await timers.extend(receipt, UNCONFIRMED_LEASE_MS)
    }
  }

  stop(): void {
    for (const { end, wake } of this.#watches.values()) {
      wake.cancel()
      end()
    }
    this.#watches.clear()
  }

  #watch(timers: Timers, { from, namespace }: TakeRequest, kind: string): void {
    const name = JSON.stringify([from, namespace, kind])
    const over = (): void => {
      this.#watches.get(name)?.end()
      this.#watches.delete(name)
    }
    const wake = this.#clock.wakeAfter(LEASE_WATCH_MS, over, { keepAlive: false })
    const known = this.#watches.get(name)
    if (known !== undefined) {
      known.wake.cancel()
      known.wake = wake
      return
    }
    const end = timers.watchLeasable(kind, () => {
      this.#watches.get(name)?.wake.cancel()
      this.#watches.delete(name)
      void this.#report(from, namespace, kind)
    })
    this.#watches.set(name, { end, wake })
  }

  /** The message may get lost: the other instance asks again after `LEASE_ASK_AGAIN_MS`. */
  async #report(to: string, namespace: string, kind: string): Promise<void> {
    const member = this.#engine.peerOf(to)
    if (member === undefined) return
    const deadline = Math.ceil(this.#engine.storeNow() + LEASE_WATCH_MS)
    await this.#peers.send(member, deadline, { type: 'due', from: this.#engine.memberId, namespace, kind })
  }
}
