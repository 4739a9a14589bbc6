import { StoreError } from '../../error/index.js'
import type { Timers } from '../../front/index.js'
import type { HttpPeers } from './http-peers.js'
import { giverOf, type LeaseOutcome, type LeaseWord, sayHere } from './lease-word.js'
import { errorOf } from './peer-message.js'

/**
 * Takes workers' words for leases, whichever instance gave them: those of another are said to it. A lease lives where
 * it was given; of an instance that is gone every lease is over, and its firings come again.
 */
export class LeaseWords {
  readonly #peers: HttpPeers | undefined

  constructor(peers: HttpPeers | undefined) {
    this.#peers = peers
  }

  async say(timers: Timers, namespace: string, receipt: string, word: LeaseWord): Promise<LeaseOutcome> {
    const { engine } = timers
    const giver = giverOf(receipt)
    if (giver === engine.memberId || this.#peers === undefined) return await sayHere(timers, receipt, word)
    const isHeardOf = (): boolean => engine.peerOf(giver) !== undefined || engine.memberIds.includes(giver)
    // One that has just begun is not to be taken for one that is gone.
    if (!isHeardOf()) await engine.hearMembers()
    const member = engine.peerOf(giver)
    if (member === undefined) {
      if (isHeardOf()) throw unreachable(giver)
      return await sayHere(timers, receipt, word)
    }
    const deadline = Math.ceil(engine.storeNow() + engine.settings.requestTimeoutMs)
    const delivered = await this.#peers.deliver(member, deadline, { type: 'lease', namespace, receipt, word })
    if (delivered.outcome !== 'answered') throw unreachable(giver)
    const { outcome, problem } = delivered.reply
    if (problem !== undefined) throw errorOf(problem)
    if (outcome === undefined) throw unreachable(giver)
    return outcome
  }
}

function unreachable(giver: string): StoreError {
  return new StoreError(
    'owner-unreachable',
    `the instance ${giver}, which gave this lease, does not answer: try again`,
  )
}
