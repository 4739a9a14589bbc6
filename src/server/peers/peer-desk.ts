import type { TimerEngine } from '../../engine/index.js'
import { CarillonError } from '../../error/index.js'
import type { Timers } from '../../front/index.js'
import type { ClusterSecret } from './cluster-secret.js'
import { sayHere } from './lease-word.js'
import {
  encodeAnswer,
  isPass,
  type LeaseAsk,
  peerAskOf,
  type PeerMessage,
  type PeerReply,
  problemOf,
} from './peer-message.js'

export interface PeerDeskParts {
  readonly secret: ClusterSecret
  readonly engine: TimerEngine
  readonly timersOf: (namespace: string) => Timers | Promise<Timers>
}

/** A reply and its signature. */
export interface SignedReply {
  readonly text: string
  readonly signature: string
}

/**
 * Answers what other instances ask: only what is signed with the secret of the store, is meant for this instance, and
 * comes before its deadline and for the first time.
 */
export class PeerDesk {
  readonly #secret: ClusterSecret
  readonly #engine: TimerEngine
  readonly #timersOf: PeerDeskParts['timersOf']
  // What has come, until its deadline.
  readonly #seen = new Map<string, number>()

  constructor({ secret, engine, timersOf }: PeerDeskParts) {
    this.#secret = secret
    this.#engine = engine
    this.#timersOf = timersOf
  }

  /** Whether what comes with this pass is worth reading. */
  admits(pass: unknown): boolean {
    return isPass(this.#secret, pass, this.#engine.memberId, this.#engine.storeNow())
  }

  /** Undefined for what no instance of this store has signed. */
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
        const answers = await this.#engine.submitFor(peerAskOf(ask, deadline))
        return answers === undefined ? { id } : { id, answers: answers.map(encodeAnswer) }
      }
      case 'lease':
        return { id, ...(await this.#say(ask)) }
    }
  }

  async #say({ namespace, receipt, word }: LeaseAsk): Promise<Omit<PeerReply, 'id'>> {
    try {
      return { outcome: await sayHere(await this.#timersOf(namespace), receipt, word) }
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error
      return { problem: problemOf(error) }
    }
  }

  #isLate(deadline: number): boolean {
    return this.#engine.storeNow() >= deadline
  }

  /** Whether it comes for the first time. */
  #isNew(id: string, deadline: number): boolean {
    // Deadlines come about in their order.
    for (const [old, until] of this.#seen) {
      if (!this.#isLate(until)) break
      this.#seen.delete(old)
    }
    if (this.#seen.has(id)) return false
    this.#seen.set(id, deadline)
    return true
  }
}
