import type { TimerEngine } from '../../engine/index.js'
import { CarillonError } from '../../error/index.js'
import type { Timers } from '../../front/index.js'
import type { ClusterSecret } from './cluster-secret.js'
import type { ClusterViews } from '../views/cluster-views.js'
import { applyLeaseActions } from './lease-action.js'
import type { LeaseFinder } from './lease-finder.js'
import type { LeaseTaker } from './lease-taker.js'
import {
  encodeAnswer,
  isPass,
  type LeaseActionRequest,
  leaseActionsOf,
  leaseReplyOf,
  peerRequestOf,
  type PeerMessage,
  type PeerReply,
} from './peer-message.js'

export interface PeerEndpointParts {
  readonly secret: ClusterSecret
  readonly engine: TimerEngine
  readonly timersOf: (namespace: string) => Timers | Promise<Timers>
  readonly leaseTaker: LeaseTaker
  readonly leaseFinder: LeaseFinder
  readonly views: ClusterViews
}

export interface SignedReply {
  readonly text: string
  readonly signature: string
}

/**
 * Answers messages from other instances. A message must be signed with the store's secret, be addressed to this
 * instance, and arrive before its deadline and for the first time.
 *
 * Proven by test/server/forwarding.test.ts.
 */
export class PeerEndpoint {
  readonly #secret: ClusterSecret
  readonly #engine: TimerEngine
  readonly #timersOf: PeerEndpointParts['timersOf']
  readonly #leaseTaker: LeaseTaker
  readonly #leaseFinder: LeaseFinder
  readonly #views: ClusterViews
  // Ids of received messages, each kept until its deadline.
  readonly #seen = new Map<string, number>()

  constructor({ secret, engine, timersOf, leaseTaker, leaseFinder, views }: PeerEndpointParts) {
    this.#views = views
    this.#secret = secret
    this.#leaseTaker = leaseTaker
    this.#leaseFinder = leaseFinder
    this.#engine = engine
    this.#timersOf = timersOf
  }

  /** Whether the pass is valid, so that the body may be read. */
  admits(pass: unknown): boolean {
    return isPass(this.#secret, pass, this.#engine.memberId, this.#engine.storeNow())
  }

  /** Undefined if no instance of this store has signed the message. */
  async answer(text: string, signature: unknown): Promise<SignedReply | undefined> {
    if (!this.#secret.isSigned('ask', text, signature)) return undefined
    const reply = JSON.stringify(await this.#replyTo(JSON.parse(text) as PeerMessage))
    return { text: reply, signature: this.#secret.signatureOf('answer', reply) }
  }

  async #replyTo({ to, id, deadline, ask }: PeerMessage): Promise<PeerReply> {
    if (to !== this.#engine.memberId || this.#isLate(deadline)) return { id }
    if (!this.#isNew(id, deadline)) return { id, isRepeated: true }
    switch (ask.type) {
      case 'operations': {
        const answers = await this.#engine.submitFor(peerRequestOf(ask, deadline))
        return answers === undefined ? { id } : { id, answers: answers.map(encodeAnswer) }
      }
      case 'lease':
        return { id, ...(await this.#applyLeaseActions(ask)) }
      case 'take':
        return { id, firings: await this.#leaseTaker.take(ask, await this.#timersOf(ask.namespace)) }
      case 'due':
        this.#leaseFinder.reportDue(ask)
        return { id }
      case 'view':
        return { id, view: await this.#views.own(ask.view, ask.asks as never) }
    }
  }

  async #applyLeaseActions(ask: LeaseActionRequest): Promise<Omit<PeerReply, 'id'>> {
    const actions = leaseActionsOf(ask)
    try {
      return leaseReplyOf(await applyLeaseActions(await this.#timersOf(ask.namespace), actions))
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error
      return leaseReplyOf(actions.map(() => ({ error })))
    }
  }

  #isLate(deadline: number): boolean {
    return this.#engine.storeNow() >= deadline
  }

  /** Whether the message arrives for the first time. */
  #isNew(id: string, deadline: number): boolean {
    // Messages arrive roughly in the order of their deadlines, so the oldest come first.
    for (const [old, until] of this.#seen) {
      if (!this.#isLate(until)) break
      this.#seen.delete(old)
    }
    if (this.#seen.has(id)) return false
    this.#seen.set(id, deadline)
    return true
  }
}
