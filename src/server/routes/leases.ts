import { Type } from '@sinclair/typebox'
import { RequestError } from '../../error/index.js'
import type { ReleaseOptions } from '../../front/index.js'
import { type Route, route } from '../route.js'
import { Duration, Kind, Outcome } from '../schema.js'

const closed = { additionalProperties: false } as const
const group = 'Workers'
const ByReceipt = Type.Object({ receipt: Type.String({ minLength: 1, maxLength: 256 }) })

const LeasedFiringBody = Type.Object({
  receipt: Type.String({ description: 'How the worker answers for it.' }),
  leaseUntil: Type.Number({ description: 'Without an answer by then the attempt has failed.' }),
  id: Type.String({ description: 'The same on every attempt: an idempotency key for others.' }),
  kind: Type.String(),
  key: Type.String(),
  handle: Type.String(),
  payload: Type.Optional(Type.Unknown()),
  tags: Type.Array(Type.String()),
  dueAt: Type.Number(),
  firedAt: Type.Number(),
  attempt: Type.Integer(),
  occurrence: Type.Integer(),
})

/** For workers that cannot be called: they ask for what is due, and answer for it by receipt. */
export const leaseRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/v1/leases',
    scope: 'write',
    group,
    summary: 'Take due firings of kinds whose target is lease; wait for the first if there is none.',
    description: 'Firings of the shards of this instance. A receipt is good only where it came from.',
    body: Type.Object(
      {
        kinds: Type.Array(Kind, { minItems: 1, maxItems: 100 }),
        max: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'Default 1.' })),
        waitMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 60_000, description: 'Default 0.' })),
        duration: Type.Optional(Duration),
      },
      closed,
    ),
    answer: Type.Object({ firings: Type.Array(LeasedFiringBody) }),
    refusals: [404, 409],
    handle: async ({ timers, body: { kinds, max, waitMs, duration }, reply }) => {
      const gone = new AbortController()
      const leave = (): void => gone.abort()
      reply.raw.once('close', leave)
      const firings = await timers.lease(kinds, {
        ...(max !== undefined && { max }),
        ...(waitMs !== undefined && { wait: waitMs }),
        ...(duration !== undefined && { duration }),
        signal: gone.signal,
      })
      reply.raw.off('close', leave)
      return { firings }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/leases/{receipt}/ack',
    scope: 'write',
    group,
    summary: 'The firing is done, or fires once more.',
    params: ByReceipt,
    body: Type.Object(
      {
        again: Type.Optional(
          Type.Union([
            Type.Object({ in: Duration }, closed),
            Type.Object({ at: Type.Number({ minimum: 0, maximum: 8.64e15 }) }, closed),
          ]),
        ),
      },
      closed,
    ),
    answer: Outcome('acked'),
    refusals: [410],
    handle: async ({ timers, params, body: { again } }) =>
      fresh(await timers.ack(params.receipt, again === undefined ? {} : { again })),
  }),
  route({
    method: 'POST',
    path: '/v1/leases/{receipt}/extend',
    scope: 'write',
    group,
    summary: 'The lease ends that long from now.',
    params: ByReceipt,
    body: Type.Object({ duration: Duration }, closed),
    answer: Outcome('extended'),
    refusals: [410],
    handle: async ({ timers, params, body }) => fresh(await timers.extend(params.receipt, body.duration)),
  }),
  route({
    method: 'POST',
    path: '/v1/leases/{receipt}/release',
    scope: 'write',
    group,
    summary: 'The attempt has failed: it is tried again by its policy or after a pause, or given up.',
    params: ByReceipt,
    body: Type.Object(
      {
        in: Type.Optional(Duration),
        reason: Type.Optional(Type.String({ maxLength: 1000 })),
        dead: Type.Optional(Type.Boolean()),
      },
      closed,
    ),
    answer: Outcome('released'),
    refusals: [410],
    handle: async ({ timers, params, body }) =>
      fresh(await timers.release(params.receipt, body as ReleaseOptions)),
  }),
]

function fresh<Word extends string>(outcome: Word | 'stale'): { readonly outcome: Word } {
  if (outcome !== 'stale') return { outcome }
  throw new RequestError(
    'receipt-stale',
    'the lease had ended, was answered, or is another instance’s by now',
  )
}
