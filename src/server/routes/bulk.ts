import { type Static, Type } from '@sinclair/typebox'
import type { When } from '../../front/index.js'
import { MAX_BULK_TIMERS } from '../defaults.js'
import type { Call, Route } from '../http/route.js'
import { route } from '../http/route.js'
import { Duration, Instant } from '../http/schema/schema.js'
import { conditions } from '../http/schema/timer-query.js'

const group = 'Bulk changes'
const closed = { additionalProperties: false } as const

const filter = {
  ...conditions,
  keyPrefix: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
  dueFrom: Type.Optional(Instant),
  dueUntil: Type.Optional(Instant),
}
const Filter = Type.Object(filter, {
  ...closed,
  minProperties: 1,
  description: 'A timer matches when every given condition holds. At least one is needed.',
})
const dryRun = Type.Optional(Type.Boolean({ description: 'Only count the timers, and change none.' }))

const Counts = Type.Object(
  { found: Type.Integer({ description: 'How many timers match.' }) },
  {
    additionalProperties: Type.Integer(),
    description: 'Besides `found`: how many timers had each outcome, such as `cancelled` or `firing`.',
  },
)

/** Changes to all timers that match a filter. The audit log keeps each. */
export const bulkRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/v1/bulk/cancel',
    scope: 'write',
    group,
    summary: 'Cancel all timers that match a filter.',
    description: `Count them first, with \`dryRun\`. A filter that matches more than ${MAX_BULK_TIMERS} timers is refused, and nothing is changed.`,
    body: Type.Object({ filter: Filter, dryRun }, closed),
    answer: Counts,
    refusals: [404],
    audit: { action: 'bulk.cancel', describe },
    handle: ({ timers, limits, body }) =>
      timers.cancelMany(body.filter, { ...limits, maxFound: MAX_BULK_TIMERS, ...dryRunOf(body) }),
  }),
  route({
    method: 'POST',
    path: '/v1/bulk/move',
    scope: 'write',
    group,
    summary: 'Give all timers that match a filter another due time.',
    description: `With \`"in": 0\` they fire now. A filter that matches more than ${MAX_BULK_TIMERS} timers is refused, and nothing is changed.`,
    body: Type.Object(
      { filter: Filter, dryRun, in: Type.Optional(Duration), at: Type.Optional(Instant) },
      { ...closed, description: 'Exactly one of in and at.' },
    ),
    answer: Counts,
    refusals: [404],
    audit: { action: 'bulk.move', describe },
    handle: ({ timers, limits, body }) => {
      const { filter: which, dryRun: _, ...when } = body
      return timers.moveMany(which, when as When, {
        ...limits,
        maxFound: MAX_BULK_TIMERS,
        ...dryRunOf(body),
      })
    },
  }),
]

function dryRunOf({ dryRun: isDry }: { readonly dryRun?: boolean }): { readonly dryRun?: boolean } {
  return isDry === undefined ? {} : { dryRun: isDry }
}

function describe(
  { body }: Call<unknown, unknown, { readonly filter: Static<typeof Filter>; readonly dryRun?: boolean }>,
  answer: { readonly found: number } | undefined,
) {
  return { details: { ...body.filter, dryRun: body.dryRun, found: answer?.found } }
}
