import { type Static, Type } from '@sinclair/typebox'
import { RequestError } from '../../error/index.js'
import type { KeyWatch } from '../key-watch.js'
import type { LeaseOutcome, LeaseAction } from '../peers/lease-action.js'
import type { LeaseFinder } from '../peers/lease-finder.js'
import type { LeaseRouter } from '../peers/lease-router.js'
import { AckBody, ackOptionsOf, ExtendBody, Receipt, ReleaseBody } from '../http/schema/lease-schema.js'
import { type Call, type Route, route } from '../http/route.js'
import { Duration, EpochMs, Json, Kind, Outcome } from '../http/schema/schema.js'

const closed = { additionalProperties: false } as const
const group = 'Workers'
const ByReceipt = Type.Object({ receipt: Receipt })

export const LeasedFiringBody = Type.Object({
  receipt: Type.String({ description: 'Identifies the lease in ack, extend and release.' }),
  leaseUntil: EpochMs,
  id: Type.String({ description: 'The same on every attempt. Use it as an idempotency key elsewhere.' }),
  kind: Type.String(),
  key: Type.String(),
  handle: Type.String(),
  payload: Type.Optional(Json),
  tags: Type.Array(Type.String()),
  dueAt: EpochMs,
  firedAt: EpochMs,
  attempt: Type.Integer(),
  occurrence: Type.Integer(),
})

/** For workers that cannot be called: they lease due firings, and answer with the receipt. */
export function leaseRoutes(router: LeaseRouter, finder: LeaseFinder, keyWatch: KeyWatch): readonly Route[] {
  const apply = async (
    { timers, limits, admission, params }: Call<Static<typeof ByReceipt>, unknown, unknown>,
    action: LeaseAction,
  ): Promise<{ readonly outcome: LeaseOutcome }> =>
    checkNotStale(await router.apply(timers, admission.namespace, params.receipt, action, limits))
  return [
    route({
      method: 'POST',
      path: '/v1/leases',
      scope: 'write',
      group,
      summary: 'Lease due firings of kinds whose target is `lease`. Waits up to `waitMs` for the first.',
      description:
        'An attempt fails if the worker has not answered by `leaseUntil`. Returns firings of all shards, from any instance. Any instance accepts the ack.',
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
      handle: async ({ timers, limits, admission, body: { kinds, max = 1, waitMs = 0, duration } }) => {
        const { key, namespace } = admission
        const firings = await keyWatch.wait(key, limits.signal, (signal) =>
          finder.lease(timers, { namespace, kinds, max, waitMs, duration, signal }),
        )
        return { firings }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/leases/{receipt}/ack',
      scope: 'write',
      group,
      summary: 'Finish a firing, have it fire again, or end its timer.',
      params: ByReceipt,
      body: AckBody,
      answer: Outcome('acked'),
      refusals: [410],
      handle: async (call) => await apply(call, { type: 'ack', options: ackOptionsOf(call.body) }),
    }),
    route({
      method: 'POST',
      path: '/v1/leases/{receipt}/extend',
      scope: 'write',
      group,
      summary: 'Extend a lease: it ends `duration` from now.',
      params: ByReceipt,
      body: ExtendBody,
      answer: Outcome('extended'),
      refusals: [410],
      handle: async (call) => await apply(call, { type: 'extend', duration: call.body.duration }),
    }),
    route({
      method: 'POST',
      path: '/v1/leases/{receipt}/release',
      scope: 'write',
      group,
      summary: 'Fail the attempt: retry it by its policy or after `in`, or give it up with `dead`.',
      params: ByReceipt,
      body: ReleaseBody,
      answer: Outcome('released'),
      refusals: [410],
      handle: async (call) => await apply(call, { type: 'release', options: call.body }),
    }),
  ]
}

function checkNotStale(outcome: LeaseOutcome): { readonly outcome: LeaseOutcome } {
  if (outcome !== 'stale') return { outcome }
  throw new RequestError(
    'receipt-stale',
    'the lease has ended, was already answered, or the instance that issued it is gone',
  )
}
