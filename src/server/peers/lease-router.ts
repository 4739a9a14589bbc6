import { StoreError } from '../../error/index.js'
import type { Timers } from '../../front/index.js'
import type { HttpPeers } from './http-peers.js'
import { issuerOf, type LeaseOutcome, type LeaseAction, applyLeaseAction } from './lease-action.js'
import { errorOf } from './peer-message.js'

/**
 * Applies workers' actions to worker leases, and sends each action to the instance that issued the lease. A worker lease
 * exists only there: once that instance is gone, its leases have ended, and their firings are delivered again.
 *
 * Proven by test/server/forwarded-leases.test.ts.
 */
export class LeaseRouter {
  readonly #peers: HttpPeers | undefined

  constructor(peers: HttpPeers | undefined) {
    this.#peers = peers
  }

  async apply(
    timers: Timers,
    namespace: string,
    receipt: string,
    action: LeaseAction,
  ): Promise<LeaseOutcome> {
    const { engine } = timers
    const issuer = issuerOf(receipt)
    if (issuer === engine.memberId || this.#peers === undefined)
      return await applyLeaseAction(timers, receipt, action)
    const isMember = (): boolean => engine.peerOf(issuer) !== undefined || engine.memberIds.includes(issuer)
    // Read the members again first: an unknown issuer may be new, not gone.
    if (!isMember()) await engine.hearMembers()
    const member = engine.peerOf(issuer)
    if (member === undefined) {
      if (isMember()) throw unreachable(issuer)
      return await applyLeaseAction(timers, receipt, action)
    }
    const deadline = Math.ceil(engine.storeNow() + engine.settings.requestTimeoutMs)
    // On the wire the action is called `word`: older instances read it under that name.
    const ask = { type: 'lease', namespace, receipt, word: action } as const
    const result = await this.#peers.send(member, deadline, ask)
    if (result.outcome !== 'answered') throw unreachable(issuer)
    const { outcome, problem } = result.reply
    if (problem !== undefined) throw errorOf(problem)
    if (outcome === undefined) throw unreachable(issuer)
    return outcome
  }
}

function unreachable(issuer: string): StoreError {
  return new StoreError(
    'owner-unreachable',
    `instance ${issuer}, which issued this lease, does not answer: try again`,
  )
}
