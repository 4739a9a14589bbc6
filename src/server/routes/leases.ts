import { Type } from '@sinclair/typebox'
import { RequestError } from '../../error/index.js'
import type { Timers } from '../../front/index.js'
import type { LeaseOutcome, LeaseWord } from '../peers/lease-word.js'
import type { LeaseWords } from '../peers/lease-words.js'
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
export function leaseRoutes(words: LeaseWords): readonly Route[] {
  const say = async (
    timers: Timers,
    { namespace }: { readonly namespace: string },
    { receipt }: { readonly receipt: string },
    word: LeaseWord,
  ): Promise<{ readonly outcome: LeaseOutcome }> => fresh(await words.say(timers, namespace, receipt, word))
  return [
    route({
      method: 'POST',
      path: '/v1/leases',
      scope: 'write',
      group,
      summary: 'Take due firings of kinds whose target is lease; wait for the first if there is none.',
      description: 'Firings of the shards of this instance. Any instance takes the answer.',
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
      handle: async ({ timers, admission, params, body: { again } }) =>
        await say(timers, admission, params, { type: 'ack', options: again === undefined ? {} : { again } }),
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
      handle: async ({ timers, admission, params, body }) =>
        await say(timers, admission, params, { type: 'extend', duration: body.duration }),
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
      handle: async ({ timers, admission, params, body }) =>
        await say(timers, admission, params, { type: 'release', options: body }),
    }),
  ]
}

function fresh(outcome: LeaseOutcome): { readonly outcome: LeaseOutcome } {
  if (outcome !== 'stale') return { outcome }
  throw new RequestError(
    'receipt-stale',
    'the lease had ended, was answered, or the instance that gave it is gone',
  )
}
