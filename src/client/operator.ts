import type { HttpCalls } from './http-calls.js'
import { maybeInstant, nameOf, segmentOf, timerPath } from './input.js'
import type {
  ClusterAnswer,
  DeadGroups,
  EditAnswer,
  JobAnswer,
  JobInput,
  OverviewAnswer,
  SeriesAnswer,
} from './operator-wire.js'
import type { ChangeOptions, InstantGiven, KindGiven } from './wire.js'

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

  /** Starts a change to all timers or dead letters that match a filter. It runs in the background. */
  async startJob(input: JobInput): Promise<JobAnswer> {
    return await this.#calls.send({ method: 'POST', path: '/v1/jobs', body: input })
  }

  /** The jobs of the namespace, of all instances, the newest first. */
  async jobs(): Promise<readonly JobAnswer[]> {
    return (await this.#calls.send<{ jobs: readonly JobAnswer[] }>({ method: 'GET', path: '/v1/jobs' })).jobs
  }

  async job(id: string): Promise<JobAnswer> {
    return await this.#calls.send({ method: 'GET', path: `/v1/jobs/${segmentOf(id)}` })
  }

  /** Stops a job after the part that it is doing. */
  async stopJob(id: string): Promise<JobAnswer> {
    return await this.#calls.send({ method: 'DELETE', path: `/v1/jobs/${segmentOf(id)}` })
  }

  /** Changes the payload or the tags of a timer. It keeps its due time, its schedule and its attempts. */
  async edit(
    kind: KindGiven,
    key: string,
    edit: { readonly payload?: unknown; readonly tags?: readonly string[] },
    { ifRevision }: ChangeOptions = {},
  ): Promise<EditAnswer> {
    return await this.#calls.send({
      method: 'PATCH',
      path: timerPath(kind, key),
      body: edit,
      ...(ifRevision !== undefined && { headers: { 'if-match': `"${ifRevision}"` } }),
    })
  }

  /** The instances and the shards. Needs an API key for all namespaces. */
  async cluster(): Promise<ClusterAnswer> {
    return await this.#calls.send({ method: 'GET', path: '/v1/cluster' })
  }
}
