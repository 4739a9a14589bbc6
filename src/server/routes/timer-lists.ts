import { type Static, Type } from '@sinclair/typebox'
import type { TimerQuery } from '../../front/index.js'
import { type Route, route } from '../http/route.js'
import { InstantText, page, Page, TimerBody } from '../http/schema/schema.js'
import { conditions, progress } from '../http/schema/timer-query.js'
import { millisecondsOrString } from '../http/set-input.js'

const group = 'Timers'

const filter = {
  ...conditions,
  keyPrefix: Type.Optional(Type.String({ maxLength: 512 })),
  dueFrom: Type.Optional(InstantText),
  dueUntil: Type.Optional(InstantText),
}
const Filter = Type.Object(filter)

const order = Type.Optional(
  Type.Union([Type.Literal('due'), Type.Literal('latest')], {
    description:
      'due: what is due first comes first. latest: what is due last. Default: the order that costs least.',
  }),
)

/** List and count timers. Both end early rather than make others wait. */
export const timerListRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/timers',
    scope: 'read',
    group,
    summary: 'List timers, page by page.',
    query: Type.Object({ ...filter, order, ...page }, { additionalProperties: false }),
    answer: Type.Object({ ...Page(TimerBody).properties, ...progress }),
    refusals: [404],
    description:
      'A page ends after about 100 ms. It may then be short or even empty and still have a cursor: go on until there is none.',
    handle: ({ timers, query, limits }) => timers.list({ ...query, ...dueOf(query) }, limits),
  }),
  route({
    method: 'GET',
    path: '/v1/timers/count',
    scope: 'read',
    group,
    summary: 'Count the timers that match a filter, up to a bound.',
    query: Type.Object(
      {
        ...filter,
        cursor: page.cursor,
        atMost: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: 100_000,
            description: 'The most that one call counts. Default 10,000.',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    answer: Type.Object({
      count: Type.Integer(),
      cursor: Type.Optional(
        Type.String({ description: 'Goes on counting. Add up the counts. Absent at the end.' }),
      ),
      ...progress,
      complete: Type.Boolean({ description: 'Whether all were counted. Otherwise there may be more.' }),
    }),
    refusals: [404],
    handle: ({ timers, query, limits }) => timers.count({ ...query, ...dueOf(query) }, limits),
  }),
]

/** The due window of a query, where every value is a string. */
function dueOf({ dueFrom, dueUntil }: Static<typeof Filter>): Pick<TimerQuery, 'dueFrom' | 'dueUntil'> {
  return {
    ...(dueFrom !== undefined && { dueFrom: millisecondsOrString(dueFrom) }),
    ...(dueUntil !== undefined && { dueUntil: millisecondsOrString(dueUntil) }),
  }
}
