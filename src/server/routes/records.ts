import { Type } from '@sinclair/typebox'
import { RequestError, shown } from '../../error/index.js'
import type { Clock } from '../../time/index.js'
import type { DeadView, WhichDead } from '../../front/index.js'
import { DEAD_PAGE_MS } from '../defaults.js'
import { matchesDead } from '../jobs/job-targets.js'
import { epochMsOf } from '../../timer/index.js'
import { type Route, route } from '../http/route.js'
import {
  DeadBody,
  DurationText,
  EpochMs,
  HistoryBody,
  Instant,
  InstantText,
  Key,
  Kind,
  Page,
  page,
  ScheduleInput,
  shownAs,
} from '../http/schema/schema.js'
import { instantOf, millisecondsOrString, scheduleOf } from '../http/set-input.js'

const closed = { additionalProperties: false } as const

const DeadId = Type.String({ minLength: 1, maxLength: 1024, description: 'The id of a dead letter.' })
const Discarded = Type.Object({ count: Type.Integer({ description: 'How many were deleted.' }) })

/** History, forecast, schedule previews and dead letters. */
export function recordRoutes(clock: Clock): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/history',
      scope: 'read',
      group: 'History',
      summary: 'What happened, oldest first, as far as the history keeps it.',
      query: Type.Object(
        {
          kind: Type.Optional(Kind),
          key: Type.Optional(Key),
          from: Type.Optional(InstantText),
          until: Type.Optional(InstantText),
          ...page,
        },
        closed,
      ),
      answer: Page(HistoryBody),
      refusals: [404],
      handle: async ({ timers, query, limits }) => {
        const { from, until, ...rest } = query
        return await timers.history(
          {
            ...rest,
            ...(from !== undefined && { from: millisecondsOrString(from) }),
            ...(until !== undefined && { until: millisecondsOrString(until) }),
          },
          limits,
        )
      },
    }),
    route({
      method: 'GET',
      path: '/v1/forecast',
      scope: 'read',
      group: 'History',
      summary: 'How many timers are due in each slice of the coming time.',
      query: Type.Object(
        {
          kind: Type.Optional(Kind),
          from: Type.Optional(InstantText),
          over: Type.Optional(DurationText),
          slice: Type.Optional(DurationText),
        },
        closed,
      ),
      answer: Type.Object({
        slices: Type.Array(
          Type.Object({
            fromInclusive: EpochMs,
            untilExclusive: EpochMs,
            count: Type.Integer(),
          }),
        ),
      }),
      refusals: [404],
      handle: async ({ timers, limits, query: { kind, from, over, slice } }) => ({
        slices: await timers.forecast(
          {
            ...(kind !== undefined && { kind }),
            ...(from !== undefined && { from: millisecondsOrString(from) }),
            ...(over !== undefined && { over: millisecondsOrString(over) }),
            ...(slice !== undefined && { slice: millisecondsOrString(slice) }),
          },
          limits,
        ),
      }),
    }),
    route({
      method: 'POST',
      path: '/v1/schedules/preview',
      scope: 'read',
      group: 'Schedules',
      summary: 'The next occurrences of a schedule, each with the reason for every adjustment.',
      body: Type.Object(
        {
          on: ScheduleInput,
          count: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Default 10.' })),
          from: Type.Optional(Instant),
        },
        closed,
      ),
      answer: Type.Object({
        description: Type.String(),
        schedule: Type.Unknown(shownAs('Schedule', 'The form that is stored.')),
        occurrences: Type.Array(
          Type.Object({
            at: EpochMs,
            local: Type.String(),
            offset: Type.String(),
            reasons: Type.Array(Type.String()),
          }),
        ),
      }),
      handle: ({ body: { on, count = 10, from } }) => {
        const schedule = scheduleOf(on)
        return {
          description: schedule.describe(),
          schedule: schedule.toJSON(),
          occurrences: schedule.preview(count, {
            from: from === undefined ? clock.now() : epochMsOf(from),
          }),
        }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/dead',
      scope: 'read',
      group: 'Dead letters',
      summary: 'Timers that were given up.',
      description:
        'With `reason`, `diedFrom` or `diedUntil`, a page may be short or empty and still have a cursor: go on until there is none.',
      query: Type.Object(
        {
          kind: Type.Optional(Kind),
          key: Type.Optional(Key),
          reason: Type.Optional(
            Type.String({ minLength: 1, maxLength: 1000, description: 'As `GET /v1/dead/groups` shows it.' }),
          ),
          diedFrom: Type.Optional(InstantText),
          diedUntil: Type.Optional(InstantText),
          ...page,
        },
        closed,
      ),
      answer: Page(DeadBody),
      refusals: [404],
      handle: async ({ timers, query, limits }) => {
        const { reason, diedFrom, diedUntil, ...plain } = query
        const filter = {
          ...(reason !== undefined && { reason }),
          ...(diedFrom !== undefined && { diedFrom: instantOf(diedFrom) }),
          ...(diedUntil !== undefined && { diedUntil: instantOf(diedUntil) }),
        }
        if (Object.keys(filter).length === 0) return await timers.dead(plain, limits)
        const { limit = 100 } = query
        const until = clock.monotonic() + DEAD_PAGE_MS
        const items: DeadView[] = []
        let { cursor } = query
        do {
          const left = limit - items.length
          const found = await timers.dead({ ...plain, limit: left, cursor }, limits)
          for (const letter of found.items) if (matchesDead(letter, filter)) items.push(letter)
          cursor = found.cursor
        } while (cursor !== undefined && items.length < limit && clock.monotonic() < until)
        return { items, cursor }
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/dead/{id}',
      scope: 'write',
      group: 'Dead letters',
      summary: 'Delete a dead letter for good.',
      params: Type.Object({ id: DeadId }),
      answer: Discarded,
      refusals: [404],
      audit: { action: 'dead.discard', describe: ({ params }) => ({ subject: params.id }) },
      handle: async ({ timers, limits, params: { id } }) => {
        const count = await timers.discard([id], limits)
        if (count === 0) throw new RequestError('dead-unknown', `no dead letter with the id ${shown(id)}`)
        return { count }
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/dead',
      scope: 'write',
      group: 'Dead letters',
      summary: 'Delete dead letters for good: one by its id, those of a kind or key, or all.',
      query: Type.Object(
        {
          id: Type.Optional(DeadId),
          kind: Type.Optional(Kind),
          key: Type.Optional(Key),
          all: Type.Optional(
            Type.Literal('true', { description: 'Deletes every dead letter of the namespace.' }),
          ),
        },
        closed,
      ),
      answer: Discarded,
      refusals: [404],
      audit: {
        action: 'dead.discard',
        describe: ({ query }, answer) => ({ details: { ...query, count: answer?.count } }),
      },
      handle: async ({ timers, limits, query }) => ({ count: await timers.discard(whichOf(query), limits) }),
    }),
    route({
      method: 'POST',
      path: '/v1/dead/redrive',
      scope: 'write',
      group: 'Dead letters',
      summary: 'Set dead letters again, due now: by their ids, or all of a kind or key.',
      body: Type.Union([
        Type.Object(
          {
            ids: Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), { minItems: 1, maxItems: 1000 }),
          },
          closed,
        ),
        Type.Object({ kind: Kind, key: Type.Optional(Key) }, closed),
        Type.Object({ all: Type.Literal(true) }, closed),
      ]),
      answer: Type.Object({
        count: Type.Integer(),
        beside: Type.Array(
          Type.Object({
            id: Type.String(),
            kind: Type.String(),
            of: Type.String(),
            key: Type.String(),
            handle: Type.String(),
          }),
        ),
      }),
      refusals: [404],
      audit: {
        action: 'dead.redrive',
        describe: ({ body }, answer) => ({
          ...('kind' in body && { subject: body.kind }),
          details: { ids: 'ids' in body ? body.ids.length : undefined, count: answer?.count },
        }),
      },
      handle: async ({ timers, body, limits }) => {
        if ('ids' in body) return await timers.redrive(body.ids, limits)
        if ('all' in body) return await timers.redrive({}, limits)
        return await timers.redrive(body, limits)
      },
    }),
  ]
}

/** Which dead letters a query means. It must say so: a query that was left empty by mistake deletes nothing. */
function whichOf(query: { id?: string; kind?: string; key?: string; all?: 'true' }): WhichDead {
  const { id, kind, key, all } = query
  const isNamed = kind !== undefined || key !== undefined
  if ([id !== undefined, isNamed, all !== undefined].filter(Boolean).length !== 1) {
    throw new RequestError(
      'invalid-body',
      'say which dead letters to delete: pass id, or kind and key or one of them, or all=true',
    )
  }
  return id === undefined ? { ...(kind !== undefined && { kind }), ...(key !== undefined && { key }) } : [id]
}
