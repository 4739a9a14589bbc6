import { type Static, Type } from '@sinclair/typebox'
import { RequestError } from '../../error/index.js'
import type { When } from '../../front/index.js'
import { epochMsOf } from '../../timer/index.js'
import { MAX_BULK_TIMERS } from '../defaults.js'
import { type Call, type Route, route } from '../http/route.js'
import { Duration, EpochMs, Instant, Key, Kind, PauseNote } from '../http/schema/schema.js'
import { conditions } from '../http/schema/timer-query.js'
import { pauseOptionsOf } from '../http/set-input.js'
import type { JobTask } from '../jobs/job.js'
import type { Jobs } from '../jobs/jobs.js'
import type { ClusterViews } from '../views/cluster-views.js'

const group = 'Jobs'
const closed = { additionalProperties: false } as const

const TimerFilter = Type.Object(
  {
    ...conditions,
    keyPrefix: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
    dueFrom: Type.Optional(Instant),
    dueUntil: Type.Optional(Instant),
  },
  { ...closed, minProperties: 1, description: 'A timer matches when every given condition holds.' },
)
const DeadFilterBody = Type.Object(
  {
    kind: Type.Optional(Kind),
    key: Type.Optional(Key),
    reason: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1000, description: 'As `GET /v1/dead/groups` shows it.' }),
    ),
    diedFrom: Type.Optional(Instant),
    diedUntil: Type.Optional(Instant),
    all: Type.Optional(Type.Literal(true, { description: 'Every dead letter of the namespace.' })),
  },
  { ...closed, minProperties: 1, description: 'A dead letter matches when every given condition holds.' },
)
const rate = {
  perSecond: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100_000,
      description: 'At most so many a second. Default: no limit.',
    }),
  ),
}

const JobInput = Type.Union([
  Type.Object(
    {
      action: Type.Union([Type.Literal('cancel'), Type.Literal('fire'), Type.Literal('resume')]),
      filter: TimerFilter,
      ...rate,
    },
    closed,
  ),
  Type.Object(
    {
      action: Type.Literal('move'),
      filter: TimerFilter,
      in: Type.Optional(Duration),
      at: Type.Optional(Instant),
      ...rate,
    },
    { ...closed, description: 'Exactly one of in and at.' },
  ),
  Type.Object({ action: Type.Literal('pause'), filter: TimerFilter, note: PauseNote, ...rate }, closed),
  Type.Object(
    {
      action: Type.Union([Type.Literal('redrive'), Type.Literal('discard')]),
      filter: DeadFilterBody,
      ...rate,
    },
    closed,
  ),
])

export const JobBody = Type.Object({
  id: Type.String(),
  action: Type.String(),
  namespace: Type.String(),
  state: Type.Union(
    ['counting', 'running', 'stopping', 'done', 'stopped', 'failed'].map((state) => Type.Literal(state)),
  ),
  by: Type.String({ description: 'The name of the API key.' }),
  member: Type.String({ description: 'The instance that runs it. If that instance stops, so does the job.' }),
  startedAt: EpochMs,
  endedAt: Type.Optional(EpochMs),
  found: Type.Integer({ description: 'How many match, as far as they are counted.' }),
  processed: Type.Integer(),
  outcomes: Type.Record(Type.String(), Type.Integer(), { description: 'How many had each outcome.' }),
  perSecond: Type.Optional(Type.Integer()),
  code: Type.Optional(Type.String({ description: 'Why it failed, or why the last failed change did.' })),
  detail: Type.Optional(Type.String()),
})

const JobId = Type.Object({ id: Type.String({ pattern: '^[0-9a-f]{1,64}$' }) })

/** Changes to everything that matches a filter, in the background. */
export function jobRoutes(jobs: Jobs, views: ClusterViews): Route[] {
  const find = async (namespace: string, id: string): Promise<Static<typeof JobBody>> => {
    const { answers } = await views.all('jobs', { namespace })
    const job = answers.flatMap(({ answer }) => answer).find((each) => each.id === id)
    if (job === undefined) throw unknownJob(id)
    return job
  }
  return [
    route({
      method: 'POST',
      path: '/v1/jobs',
      scope: 'write',
      group,
      summary: 'Change all timers or dead letters that match a filter, in the background.',
      description: `Count them first: \`GET /v1/timers/count\`, \`GET /v1/dead/groups\`. A filter that matches more than ${MAX_BULK_TIMERS} is refused, and nothing is changed. \`fire\` moves a timer to now.`,
      body: JobInput,
      answer: JobBody,
      status: 202,
      audit: {
        action: 'jobs.start',
        describe: ({ body }, job) => ({
          ...(job !== undefined && { subject: job.id }),
          details: { action: body.action, filter: JSON.stringify(body.filter) },
        }),
      },
      handle: (call) => {
        const { timers, admission, body } = call
        const { key, namespace } = admission
        return jobs.start({ task: taskOf(call), timers, namespace, by: key.name, perSecond: body.perSecond })
      },
    }),
    route({
      method: 'GET',
      path: '/v1/jobs',
      scope: 'read',
      group,
      summary: 'The jobs of the namespace, of all instances, the newest first.',
      answer: Type.Object({ jobs: Type.Array(JobBody) }),
      handle: async ({ admission: { namespace } }) => {
        const { answers } = await views.all('jobs', { namespace })
        const all = answers.flatMap(({ answer }) => answer)
        return { jobs: all.toSorted((a, b) => b.startedAt - a.startedAt) }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/jobs/{id}',
      scope: 'read',
      group,
      summary: 'A job and its progress.',
      params: JobId,
      answer: JobBody,
      refusals: [404],
      handle: ({ admission, params }) => find(admission.namespace, params.id),
    }),
    route({
      method: 'DELETE',
      path: '/v1/jobs/{id}',
      scope: 'write',
      group,
      summary: 'Stop a job after the part that it is doing. What it has changed stays changed.',
      params: JobId,
      answer: JobBody,
      refusals: [404],
      audit: { action: 'jobs.stop', describe: ({ params }) => ({ subject: params.id }) },
      handle: async ({ admission: { namespace }, params: { id } }) => {
        const { member } = await find(namespace, id)
        const stopped = await views.of(member, 'stopJob', { namespace, id })
        return stopped ?? (await find(namespace, id))
      },
    }),
  ]
}

function taskOf({ admission, body }: Call<unknown, unknown, Static<typeof JobInput>>): JobTask {
  switch (body.action) {
    case 'move': {
      const { in: after, at } = body
      if ((after === undefined) === (at === undefined))
        throw new RequestError('invalid-body', 'a move needs exactly one of in and at')
      const when = (after === undefined ? { at } : { in: after }) as When
      return { action: 'move', filter: body.filter, when }
    }
    case 'pause':
      return {
        action: 'pause',
        filter: body.filter,
        pause: pauseOptionsOf({}, admission, body.note),
      }
    case 'redrive':
    case 'discard': {
      const { diedFrom, diedUntil, ...same } = body.filter
      const filter = {
        ...same,
        ...(diedFrom !== undefined && { diedFrom: epochMsOf(diedFrom) }),
        ...(diedUntil !== undefined && { diedUntil: epochMsOf(diedUntil) }),
      }
      return { action: body.action, filter }
    }
    case 'cancel':
    case 'fire':
    case 'resume':
      return { action: body.action, filter: body.filter }
  }
}

function unknownJob(id: string): RequestError {
  return new RequestError('job-unknown', `no job ${id}: it has ended long ago, or its instance has stopped`)
}
