import type { Static } from '@sinclair/typebox'
import type { CallOptions, PauseView, Timers } from '../../front/index.js'
import { MAX_OVERVIEW_KINDS } from '../defaults.js'
import type { ClusterViews } from './cluster-views.js'
import type { DeadSurveys } from './dead-survey.js'
import type { KindCensus, KindTimers } from './kind-census.js'
import type { KindHere } from './kinds-here.js'
import type { KindOverviewBody, OverviewBody } from './overview-schema.js'
import { addCells, counted, latenessOf } from './step-ring.js'

type Overview = Static<typeof OverviewBody>
type KindOverview = Static<typeof KindOverviewBody>
type Totals = Overview['totals']
/** What one instance knows about a kind. */
interface Here {
  readonly member: string
  readonly each: KindHere
}
type Breaker = NonNullable<KindOverview['breaker']>

const none: KindTimers = Object.freeze({
  pending: 0,
  overdue: 0,
  oldestDueAt: undefined,
  retrying: 0,
  paused: 0,
})
// The first one is shown when instances differ.
const breakers: readonly Breaker[] = ['gone', 'refused', 'open']

/** The kinds of a namespace with their counts, summed over all instances. Proven by test/server/views/overview.test.ts. */
export class Overviews {
  readonly #views: ClusterViews
  readonly #census: KindCensus
  readonly #dead: DeadSurveys

  constructor(views: ClusterViews, census: KindCensus, dead: DeadSurveys) {
    this.#views = views
    this.#census = census
    this.#dead = dead
  }

  async of(namespace: string, timers: Timers, limits: CallOptions): Promise<Overview> {
    const { engine } = timers
    const [count, cluster, targets, paused, kinds, dead] = await Promise.all([
      this.#census.newest(limits),
      this.#views.all('kinds', { namespace }),
      timers.listTargets(limits),
      timers.paused(),
      timers.kinds(limits),
      this.#dead.newest(namespace, limits),
    ])
    const timersOf = count.result?.get(namespace)
    const names = [...new Set([...kinds, ...(timersOf?.keys() ?? [])])].toSorted()
    const pauseOf = new Map(paused.ofKinds.map(({ kind, ...pause }) => [kind, pause]))
    const targetOf = new Map(targets.map((target) => [target.kind, target]))
    const hereOf = byKind(cluster.answers)
    const shown = names.slice(0, MAX_OVERVIEW_KINDS)
    const overviews = shown.map((kind): KindOverview => {
      const here = hereOf.get(kind) ?? []
      const target = targetOf.get(kind)
      const pause: PauseView | undefined = pauseOf.get(kind)
      const handledBy = here.filter(({ each }) => each.isHandled).map(({ member }) => member)
      return {
        kind,
        ...countsOf(timersOf?.get(kind) ?? none, here, engine.storeNow(), dead.result?.countOf(kind) ?? 0),
        ...(pause !== undefined && { pause }),
        ...(target !== undefined && {
          target: {
            type: target.type,
            version: target.version,
            ...('url' in target && { url: target.url }),
          },
        }),
        ...breakerOf(here),
        handledBy: [...new Set([...handledBy, ...engine.handlersOf(namespace, kind)])].toSorted(),
        perSecond: ratesOf(here),
        ...latenessOfKind(here),
      }
    })
    return {
      at: engine.storeNow(),
      namespace,
      isAllPaused: paused.all,
      ...(paused.allPause !== undefined && { allPause: paused.allPause }),
      totals: overviews.reduce(together, countsOf(none, [], 0, 0)),
      kinds: overviews,
      moreKinds: shown.length < names.length,
      counted: {
        state: count.state,
        ...(count.countedAt !== undefined && { countedAt: count.countedAt }),
      },
      instances: { known: cluster.known, answered: cluster.answers.length },
    }
  }
}

function byKind(
  answers: readonly { readonly member: string; readonly answer: readonly KindHere[] }[],
): ReadonlyMap<string, readonly Here[]> {
  const kinds = new Map<string, Here[]>()
  for (const { member, answer } of answers) {
    for (const each of answer) {
      const known = kinds.get(each.kind)
      if (known === undefined) kinds.set(each.kind, [{ member, each }])
      else known.push({ member, each })
    }
  }
  return kinds
}

function countsOf(timers: KindTimers, here: readonly Here[], now: number, dead: number): Totals {
  const { oldestDueAt, ...stored } = timers
  const waitingSince = now - Math.max(0, ...here.map(({ each }) => each.overdueMs))
  const waiting = sumOf(here, ({ each }) => each.waiting)
  const oldest = Math.min(oldestDueAt ?? Infinity, waiting > 0 ? waitingSince : Infinity)
  return {
    ...stored,
    ...(oldest !== Infinity && { oldestDueAt: oldest }),
    waiting,
    inFlight: sumOf(here, ({ each }) => each.inFlight),
    dead,
  }
}

function together(sum: Totals, each: Totals): Totals {
  const oldest = Math.min(sum.oldestDueAt ?? Infinity, each.oldestDueAt ?? Infinity)
  return {
    pending: sum.pending + each.pending,
    overdue: sum.overdue + each.overdue,
    ...(oldest !== Infinity && { oldestDueAt: oldest }),
    waiting: sum.waiting + each.waiting,
    inFlight: sum.inFlight + each.inFlight,
    retrying: sum.retrying + each.retrying,
    paused: sum.paused + each.paused,
    dead: sum.dead + each.dead,
  }
}

function breakerOf(here: readonly Here[]): { readonly breaker?: Breaker } {
  const breaker = breakers.find((each) => here.some((one) => one.each.trouble === each))
  return breaker === undefined ? {} : { breaker }
}

function ratesOf(here: readonly Here[]): KindOverview['perSecond'] {
  const sum: number[] = []
  for (const { each } of here) addCells(sum, each.minute)
  const [set = 0, fired = 0, done = 0, failed = 0, dead = 0] = counted.map((_, cell) => (sum[cell] ?? 0) / 60)
  return { set, fired, done, failed, dead }
}

function latenessOfKind(here: readonly Here[]): Pick<KindOverview, 'lateness'> {
  const buckets: number[] = []
  for (const { each } of here) addCells(buckets, each.recent)
  const p50Ms = latenessOf(buckets, 0.5)
  const p99Ms = latenessOf(buckets, 0.99)
  return p50Ms === undefined || p99Ms === undefined ? {} : { lateness: { p50Ms, p99Ms } }
}

function sumOf(here: readonly Here[], of: (here: Here) => number): number {
  return here.reduce((sum, each) => sum + of(each), 0)
}
