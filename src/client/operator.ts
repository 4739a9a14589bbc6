import type { HttpCalls } from './http-calls.js'
import { maybeInstant, nameOf } from './input.js'
import type { DeadGroups, OverviewAnswer, SeriesAnswer } from './operator-wire.js'
import type { InstantGiven, KindGiven } from './wire.js'

/**
 * The calls of a client that operators and the web page use: counts by kind, rates over time, dead letters by reason.
 * Proven by test/client/operator.test.ts.
 */
export class Operator {
  readonly #calls: HttpCalls

  constructor(calls: HttpCalls) {
    this.#calls = calls
  }

  /** The kinds of the namespace: counts by state, pauses, targets, rates and lateness. */
  async overview(): Promise<OverviewAnswer> {
    return await this.#calls.send({ method: 'GET', path: '/v1/overview' })
  }

  /** What happened in each step of the last hour or day, of a kind or of the namespace. */
  async series(
    query: { readonly kind?: KindGiven; readonly over?: '1h' | '1d' } = {},
  ): Promise<SeriesAnswer> {
    const { kind, over } = query
    return await this.#calls.send({
      method: 'GET',
      path: '/v1/series',
      query: { kind: kind && nameOf(kind), over },
    })
  }

  /** Dead letters by kind and reason, with counts over time. */
  async deadGroups(
    query: {
      readonly kind?: KindGiven
      readonly from?: InstantGiven
      readonly until?: InstantGiven
      readonly slices?: number
    } = {},
  ): Promise<DeadGroups> {
    const { kind, from, until, slices } = query
    return await this.#calls.send({
      method: 'GET',
      path: '/v1/dead/groups',
      query: { kind: kind && nameOf(kind), from: maybeInstant(from), until: maybeInstant(until), slices },
    })
  }
}
