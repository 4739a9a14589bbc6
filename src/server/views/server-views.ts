import type { Timers } from '../../front/index.js'
import type { Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import type { Route } from '../http/route.js'
import type { Jobs } from '../jobs/jobs.js'
import type { Readiness } from '../monitor/readiness.js'
import type { Namespaces } from '../namespaces.js'
import type { HttpPeers } from '../peers/http-peers.js'
import { viewRoutes } from '../routes/views.js'
import { ClusterViews } from './cluster-views.js'
import { DeadSurveys } from './dead-survey.js'
import { instanceHere } from './instance-here.js'
import { KindCensus } from './kind-census.js'
import { kindsHere } from './kinds-here.js'
import { Overviews } from './overview.js'
import { SeriesRecorder } from './series.js'

export interface ServerViewsParts {
  readonly timers: Timers
  readonly store: Store
  readonly clock: Clock
  readonly namespaces: Namespaces
  readonly peers: HttpPeers | undefined
  readonly jobs: Jobs
  readonly readiness: Readiness
}

/** The views of the whole cluster that a server offers, and this instance's part in those of others. */
export class ServerViews {
  readonly cluster: ClusterViews
  readonly #recorder: SeriesRecorder
  readonly #overviews: Overviews
  readonly #dead: DeadSurveys

  constructor({ timers, store, clock, namespaces, peers, jobs, readiness }: ServerViewsParts) {
    const upSince = clock.now()
    const recorder = new SeriesRecorder(timers, clock, () => namespaces.open())
    this.#recorder = recorder
    this.cluster = new ClusterViews(peers, timers.engine, clock, {
      kinds: ({ namespace }) => kindsHere(namespace, namespaces.openTimersOf(namespace), recorder),
      instance: async () => instanceHere(timers.engine.stats(), upSince, await readiness.faults()),
      jobs: ({ namespace }) => jobs.of(namespace),
      stopJob: ({ namespace, id }) => jobs.stopJob(namespace, id),
      series: (asks) => {
        recorder.sample()
        return recorder.steps(asks)
      },
    })
    const census = new KindCensus(timers, store, clock)
    this.#dead = new DeadSurveys(timers, store, clock)
    this.#overviews = new Overviews(this.cluster, census, this.#dead)
  }

  get routes(): readonly Route[] {
    return viewRoutes({ overviews: this.#overviews, views: this.cluster, dead: this.#dead })
  }

  /** Begins to record series. */
  start(): void {
    this.#recorder.start()
  }

  stop(): void {
    this.#recorder.stop()
  }
}
