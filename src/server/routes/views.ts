import { Type } from '@sinclair/typebox'
import { RequestError } from '../../error/index.js'
import { type Route, route } from '../http/route.js'
import { EpochMs, InstantText, Kind } from '../http/schema/schema.js'
import { instantOf } from '../http/set-input.js'
import { seriesSteps } from '../defaults.js'
import type { ClusterViews } from '../views/cluster-views.js'
import type { DeadSurveys } from '../views/dead-survey.js'
import type { Overviews } from '../views/overview.js'
import { CountedBody, Instances, OverviewBody } from '../views/overview-schema.js'
import type { SeriesHere } from '../views/series.js'
import { addCells, counted, latenessOf, noCells } from '../views/step-ring.js'

const group = 'Overview'
const closed = { additionalProperties: false } as const
const DAY_MS = 86_400_000

const SeriesPoint = Type.Object({
  at: EpochMs,
  set: Type.Integer(),
  fired: Type.Integer(),
  done: Type.Integer(),
  failed: Type.Integer(),
  dead: Type.Integer(),
  p50Ms: Type.Optional(Type.Number()),
  p99Ms: Type.Optional(Type.Number()),
})

const DeadGroupBody = Type.Object({
  kind: Type.String(),
  reason: Type.String({ description: 'Numbers, ids and quoted values are replaced by `…`.' }),
  count: Type.Integer(),
  firstAt: EpochMs,
  lastAt: EpochMs,
  sampleId: Type.String({ description: 'The id of the newest letter of the group.' }),
  slices: Type.Array(Type.Integer()),
})

/** What operators look at first: counts by kind, rates over time, dead letters by reason. Summed over all instances. */
export function viewRoutes(parts: {
  readonly overviews: Overviews
  readonly views: ClusterViews
  readonly dead: DeadSurveys
}): Route[] {
  const { overviews, views, dead } = parts
  return [
    route({
      method: 'GET',
      path: '/v1/overview',
      scope: 'read',
      group,
      summary: 'The kinds of the namespace: counts by state, pauses, targets, rates and lateness.',
      description:
        'Summed over all instances. The store is counted in the background: `counted.countedAt` says when. Counting takes at most 1/20 of the time.',
      answer: OverviewBody,
      handle: async ({ timers, admission, limits }) =>
        await overviews.of(admission.namespace, timers, limits),
    }),
    route({
      method: 'GET',
      path: '/v1/series',
      scope: 'read',
      group,
      summary: 'What happened in each step of the last hour or day: sets, attempts, outcomes and lateness.',
      description:
        'Kept in the memory of the instances, so it begins when they were started. Divide by `stepMs` for a rate. The lateness is an upper bound.',
      query: Type.Object(
        {
          kind: Type.Optional(Kind),
          over: Type.Optional(
            Type.Union([Type.Literal('1h'), Type.Literal('1d')], {
              description: '1h: steps of 10 s, the default. 1d: steps of a minute.',
            }),
          ),
        },
        closed,
      ),
      answer: Type.Object({
        stepMs: Type.Integer(),
        fromInclusive: EpochMs,
        untilExclusive: EpochMs,
        points: Type.Array(SeriesPoint, { description: 'Oldest first. The last step is still going on.' }),
        instances: Instances,
      }),
      handle: async ({ timers, admission, query: { kind, over = '1h' } }) => {
        const { stepMs, steps } = seriesSteps[over]
        const lastStep = Math.floor(timers.engine.storeNow() / stepMs)
        const firstStep = lastStep - steps + 1
        const { answers, known } = await views.all('series', {
          namespace: admission.namespace,
          ...(kind !== undefined && { kind }),
          over,
          firstStep,
          lastStep,
        })
        return {
          stepMs,
          fromInclusive: firstStep * stepMs,
          untilExclusive: (lastStep + 1) * stepMs,
          points: pointsOf(
            answers.map(({ answer }) => answer),
            firstStep,
            steps,
            stepMs,
          ),
          instances: { known, answered: answers.length },
        }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/dead/groups',
      scope: 'read',
      group: 'Dead letters',
      summary: 'Dead letters by kind and reason, with counts over time.',
      description: 'The groups with the most letters come first, at most 200. Counted in the background.',
      query: Type.Object(
        {
          kind: Type.Optional(Kind),
          from: Type.Optional(InstantText),
          until: Type.Optional(InstantText),
          slices: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default 24.' })),
        },
        closed,
      ),
      answer: Type.Object({
        groups: Type.Array(DeadGroupBody),
        fromInclusive: EpochMs,
        untilExclusive: EpochMs,
        sliceMs: Type.Integer(),
        total: Type.Integer({ description: 'All letters that were counted.' }),
        isComplete: Type.Boolean({
          description: 'False if there are more than 200,000, or no count has ended.',
        }),
        counted: CountedBody,
      }),
      handle: async ({ timers, admission, limits, query: { kind, from, until, slices = 24 } }) => {
        const { result, state, countedAt } = await dead.newest(admission.namespace, limits)
        const untilExclusive =
          until === undefined ? Math.ceil(timers.engine.storeNow()) + 1 : instantOf(until)
        const fromInclusive =
          from === undefined ? (result?.firstAt ?? untilExclusive - DAY_MS) : instantOf(from)
        if (fromInclusive >= untilExclusive)
          throw new RequestError('invalid-body', '`from` must be before `until`')
        const sliceMs = Math.max(1, Math.ceil((untilExclusive - fromInclusive) / slices))
        const asked = { fromInclusive, untilExclusive, sliceMs, ...(kind !== undefined && { kind }) }
        return {
          groups: result?.groups(asked) ?? [],
          fromInclusive,
          untilExclusive,
          sliceMs,
          total: result?.total ?? 0,
          isComplete: result?.isComplete ?? false,
          counted: { state, ...(countedAt !== undefined && { countedAt }) },
        }
      },
    }),
  ]
}

function pointsOf(all: readonly SeriesHere[], firstStep: number, steps: number, stepMs: number): object[] {
  const sums = new Map<number, number[]>()
  for (const [step, cells] of all.flat()) {
    let sum = sums.get(step)
    if (sum === undefined) sums.set(step, (sum = noCells()))
    addCells(sum, cells)
  }
  return Array.from({ length: steps }, (_, index) => {
    const cells = sums.get(firstStep + index) ?? []
    const [set = 0, fired = 0, done = 0, failed = 0, dead = 0] = cells
    const buckets = cells.slice(counted.length)
    const p50Ms = latenessOf(buckets, 0.5)
    const p99Ms = latenessOf(buckets, 0.99)
    return {
      at: (firstStep + index) * stepMs,
      set,
      fired,
      done,
      failed,
      dead,
      ...(p50Ms !== undefined && { p50Ms, p99Ms }),
    }
  })
}
