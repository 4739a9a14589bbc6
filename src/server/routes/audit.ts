import { Type } from '@sinclair/typebox'
import type { AuditLog } from '../audit/audit-log.js'
import { type Route, route } from '../http/route.js'
import { EpochMs, InstantText, page, Page } from '../http/schema/schema.js'
import { instantOf } from '../http/set-input.js'

export const AuditBody = Type.Object({
  id: Type.String(),
  at: EpochMs,
  action: Type.String({ description: 'What was done, such as `keys.create`.' }),
  outcome: Type.String({ description: '`done`, or the code of an error after which it may have been done.' }),
  subject: Type.Optional(Type.String({ description: 'What it was done to.' })),
  namespace: Type.Optional(Type.String({ description: 'Absent if it concerns all namespaces.' })),
  details: Type.Optional(
    Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
  ),
  key: Type.Object({ id: Type.String(), name: Type.String() }),
  from: Type.String({ description: 'The address that the request came from.' }),
  forwardedFor: Type.Optional(
    Type.String({ description: 'The `X-Forwarded-For` of the request, which anybody can send.' }),
  ),
  requestId: Type.Optional(Type.String()),
})

/** What operators changed. */
export function auditRoutes(log: AuditLog): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/audit',
      scope: 'admin',
      group: 'Audit',
      summary: 'What operators changed: who, what, when and from where. Newest first.',
      description:
        'A key that is bound to a namespace sees the changes in that namespace. A key for all namespaces sees all, or those of the namespace that it selects.',
      query: Type.Object(
        {
          action: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
          key: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'The id of a key.' })),
          from: Type.Optional(InstantText),
          until: Type.Optional(InstantText),
          ...page,
        },
        { additionalProperties: false },
      ),
      answer: Page(AuditBody),
      handle: async ({ timers, limits, admission, request, query }) => {
        const { action, key, from, until, limit = 100, cursor } = query
        const isForAll =
          admission.key.namespace === undefined && request.headers['carillon-namespace'] === undefined
        const asked = {
          ...(!isForAll && { namespace: admission.namespace }),
          ...(action !== undefined && { action }),
          ...(key !== undefined && { keyId: key }),
          ...(from !== undefined && { from: instantOf(from) }),
          ...(until !== undefined && { until: instantOf(until) }),
          ...(cursor !== undefined && { before: cursor }),
          limit,
        }
        return await timers.bounded(limits, () => log.list(asked))
      },
    }),
  ]
}
