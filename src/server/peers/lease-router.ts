import { StoreError } from '../../error/index.js'
import type { CallOptions, Timers } from '../../front/index.js'
import type { HttpPeers } from './http-peers.js'
import {
  applyLeaseActions,
  issuerOf,
  type LeaseAction,
  type LeaseActionOn,
  type LeaseOutcome,
  type LeaseResult,
} from './lease-action.js'
import { leaseRequestOf, leaseResultsOf } from './peer-message.js'

/**
 * Applies workers' actions to worker leases, and sends each action to the instance that issued the lease. The actions of
 * one request for the same instance go in one message. A worker lease exists only at its instance: once that is gone, its
 * leases have ended, and their firings are delivered again.
 *
 * Proven by test/server/forwarded-leases.test.ts and test/server/lease-batch.test.ts.
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
    limits: CallOptions,
  ): Promise<LeaseOutcome> {
    const [result] = await this.applyAll(timers, namespace, [{ receipt, action }], limits)
    if ('error' in result!) throw result.error
    return result!.outcome
  }

  /** Applies actions on different leases. The results have the order of the actions. */
  async applyAll(
    timers: Timers,
    namespace: string,
    actions: readonly LeaseActionOn[],
    limits: CallOptions,
  ): Promise<readonly LeaseResult[]> {
    const { engine } = timers
    const byIssuer = this.#byIssuer(actions, engine.memberId)
    const isMember = (id: string): boolean => engine.peerOf(id) !== undefined || engine.memberIds.includes(id)
    const isUnknown = (id: string): boolean => id !== engine.memberId && !isMember(id)
    // Read the members again first: an unknown issuer may be new, not gone.
    if ([...byIssuer.keys()].some(isUnknown)) await timers.bounded(limits, () => engine.hearMembers())
    const results = new Array<LeaseResult>(actions.length)
    await Promise.all(
      Array.from(byIssuer, async ([issuer, indexes]) => {
        const group = indexes.map((index) => actions[index]!)
        const isElsewhere = issuer !== engine.memberId && isMember(issuer)
        const given = isElsewhere
          ? await this.#applyAt(timers, namespace, issuer, group)
          : await applyLeaseActions(timers, group)
        for (const [at, index] of indexes.entries()) results[index] = given[at]!
      }),
    )
    return results
  }

  /** The indexes of the actions by the instance that issued the lease. Without peers, all belong to this instance. */
  #byIssuer(actions: readonly LeaseActionOn[], self: string): Map<string, number[]> {
    const byIssuer = new Map<string, number[]>()
    for (const [index, { receipt }] of actions.entries()) {
      const issuer = this.#peers === undefined ? self : issuerOf(receipt)
      const indexes = byIssuer.get(issuer)
      if (indexes === undefined) byIssuer.set(issuer, [index])
      else indexes.push(index)
    }
    return byIssuer
  }

  async #applyAt(
    { engine }: Timers,
    namespace: string,
    issuer: string,
    actions: readonly LeaseActionOn[],
  ): Promise<readonly LeaseResult[]> {
    const results: LeaseResult[] = []
    // An older instance applies only the first action of a message. The others are sent again.
    while (results.length < actions.length) {
      const [first, ...others] = actions.slice(results.length)
      const member = engine.peerOf(issuer)
      if (member === undefined) break
      const deadline = Math.ceil(engine.storeNow() + engine.settings.requestTimeoutMs)
      const ask = leaseRequestOf(namespace, [first!, ...others])
      const result = await this.#peers!.send(member, deadline, ask)
      const given = result.outcome === 'answered' ? leaseResultsOf(result.reply) : []
      if (given.length === 0) break
      results.push(...given)
    }
    return actions.map((_, index) => results[index] ?? { error: unreachable(issuer) })
  }
}

function unreachable(issuer: string): StoreError {
  return new StoreError(
    'owner-unreachable',
    `instance ${issuer}, which issued this lease, does not answer: try again`,
  )
}
