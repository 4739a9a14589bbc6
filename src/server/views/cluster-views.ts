import { within } from '../../async/index.js'
import type { TimerEngine } from '../../engine/index.js'
import type { Clock } from '../../time/index.js'
import { VIEW_TIMEOUT_MS } from '../defaults.js'
import type { HttpPeers } from '../peers/http-peers.js'
import type { AnswersOf, AsksOf, ViewAnswers, ViewName } from './view-request.js'

/** What the instances of a store have answered. */
export interface ClusterAnswers<Answer> {
  readonly answers: readonly { readonly member: string; readonly answer: Answer }[]
  /** How many instances are known. More than answers if some could not be asked, or did not answer in time. */
  readonly known: number
}

/**
 * Asks every instance of the store for its part of a view. Instances that cannot be asked directly, or that do not
 * answer within a second, are left out, and the answer says how many there are.
 *
 * Proven by test/server/views/overview.test.ts.
 */
export class ClusterViews {
  readonly #peers: HttpPeers | undefined
  readonly #engine: TimerEngine
  readonly #clock: Clock
  readonly #answers: ViewAnswers

  constructor(peers: HttpPeers | undefined, engine: TimerEngine, clock: Clock, answers: ViewAnswers) {
    this.#peers = peers
    this.#engine = engine
    this.#clock = clock
    this.#answers = answers
  }

  /** This instance's own part. */
  async own<Name extends ViewName>(view: Name, asks: AsksOf<Name>): Promise<AnswersOf<Name>> {
    return await this.#answers[view](asks)
  }

  /** The parts of all instances. */
  async all<Name extends ViewName>(view: Name, asks: AsksOf<Name>): Promise<ClusterAnswers<AnswersOf<Name>>> {
    const { memberId, memberIds } = this.#engine
    const others = memberIds.filter((id) => id !== memberId)
    const asked = others.map(async (member) => ({ member, answer: await this.#ask(member, view, asks) }))
    const own = { member: memberId, answer: await this.own(view, asks) }
    const given = await Promise.all(asked)
    const answers = given.flatMap(({ member, answer }) => (answer === undefined ? [] : [{ member, answer }]))
    return { answers: [own, ...answers], known: others.length + 1 }
  }

  /** The part of one instance. Undefined if it did not answer. */
  async of<Name extends ViewName>(
    member: string,
    view: Name,
    asks: AsksOf<Name>,
  ): Promise<AnswersOf<Name> | undefined> {
    if (member === this.#engine.memberId) return await this.own(view, asks)
    return await this.#ask(member, view, asks)
  }

  async #ask<Name extends ViewName>(
    id: string,
    view: Name,
    asks: AsksOf<Name>,
  ): Promise<AnswersOf<Name> | undefined> {
    const member = this.#engine.peerOf(id)
    if (member === undefined || this.#peers === undefined) return undefined
    const deadline = Math.ceil(this.#engine.storeNow() + VIEW_TIMEOUT_MS)
    const result = await within(
      this.#clock,
      VIEW_TIMEOUT_MS,
      this.#peers.send(member, deadline, { type: 'view', view, asks }),
    )
    // The other instance has the same version of the protocol, so its answer has the type of the view.
    return result?.outcome === 'answered' ? (result.reply.view as AnswersOf<Name> | undefined) : undefined
  }
}
