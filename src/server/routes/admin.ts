import { Type } from '@sinclair/typebox'
import type { ApiKeys } from '../api-keys.js'
import { scopes } from '../api-keys.js'
import { type Route, route } from '../http/route.js'
import { EpochMs, Kind, Outcome, PauseBody, PauseNote } from '../http/schema/schema.js'
import { pauseOptionsOf } from '../http/set-input.js'
import { RequestError } from '../../error/index.js'

const closed = { additionalProperties: false } as const
const MaybeKind = Type.Object({ kind: Type.Optional(Kind) }, closed)

const quotaLimits = {
  maxTimers: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  maxBytes: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Bytes of payload in all timers and dead letters of the namespace.',
    }),
  ),
}

export const QuotaBody = Type.Object({
  ...quotaLimits,
  used: Type.Optional(
    Type.Object(
      {
        timers: Type.Integer({ description: 'Timers and dead letters.' }),
        bytes: Type.Integer(),
        deadLetters: Type.Integer({ description: 'How many of them are dead letters.' }),
      },
      { description: 'As it was counted in the store at `countedAt`.' },
    ),
  ),
  countedAt: Type.Optional(EpochMs),
})

export const ApiKeyBody = Type.Object({
  id: Type.String(),
  name: Type.String(),
  scope: Type.Union(scopes.map((scope) => Type.Literal(scope))),
  namespace: Type.Optional(Type.String({ description: 'Absent if the key opens all namespaces.' })),
  createdAt: EpochMs,
  expiresAt: Type.Optional(EpochMs),
})

/** Kinds, pauses, quotas and keys. */
export function adminRoutes(keys: ApiKeys): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/kinds',
      scope: 'read',
      group: 'Kinds',
      summary: 'The kinds that have been set or handled in the namespace.',
      answer: Type.Object({ kinds: Type.Array(Type.String()) }),
      handle: async ({ timers, limits }) => ({ kinds: await timers.kinds(limits) }),
    }),
    route({
      method: 'GET',
      path: '/v1/pauses',
      scope: 'read',
      group: 'Kinds',
      summary: 'What is paused, kinds or everything, and why.',
      answer: Type.Object({
        all: Type.Boolean(),
        kinds: Type.Array(Type.String()),
        allPause: Type.Optional(PauseBody),
        ofKinds: Type.Array(Type.Object({ kind: Type.String(), ...PauseBody.properties })),
      }),
      handle: ({ timers }) => timers.paused(),
    }),
    route({
      method: 'POST',
      path: '/v1/pause',
      scope: 'write',
      group: 'Kinds',
      summary: 'Pause a kind, or everything in the namespace. Timers that fall due wait.',
      body: Type.Object({ kind: Type.Optional(Kind), note: PauseNote }, closed),
      answer: Outcome('paused'),
      refusals: [404],
      audit: {
        action: 'pause',
        describe: ({ body: { kind, note } }) => ({ subject: kind ?? 'everything', details: { note } }),
      },
      handle: async ({ timers, limits, admission, body: { kind, note } }) => ({
        outcome: await timers.pause(kind, undefined, pauseOptionsOf(limits, admission, note)),
      }),
    }),
    route({
      method: 'POST',
      path: '/v1/resume',
      scope: 'write',
      group: 'Kinds',
      summary: 'Resume a kind, or everything.',
      body: MaybeKind,
      answer: Outcome('resumed'),
      refusals: [404],
      audit: { action: 'resume', describe: ({ body: { kind } }) => ({ subject: kind ?? 'everything' }) },
      handle: async ({ timers, limits, body: { kind } }) => ({
        outcome: await timers.resume(kind, undefined, limits),
      }),
    }),
    route({
      method: 'GET',
      path: '/v1/quota',
      scope: 'read',
      group: 'Quotas',
      summary: "The namespace's quota and its use. Counts the store, unless it was counted a moment ago.",
      answer: QuotaBody,
      handle: async ({ timers, limits }) => await timers.getQuota(limits),
    }),
    route({
      method: 'PUT',
      path: '/v1/quota',
      scope: 'admin',
      spansNamespaces: true,
      group: 'Quotas',
      summary: 'Limit what the namespace may hold. Other instances apply it within about two seconds.',
      description: 'Needs a key for all namespaces: a key bound to a namespace cannot change its quota.',
      body: Type.Object(quotaLimits, closed),
      answer: QuotaBody,
      audit: { action: 'quota.set', describe: ({ body }) => ({ details: body }) },
      handle: async ({ timers, limits, body }) => {
        await timers.setQuota(body, limits)
        return await timers.getQuota(limits)
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/quota',
      scope: 'admin',
      spansNamespaces: true,
      group: 'Quotas',
      summary: "Remove the namespace's quota.",
      answer: Outcome('removed'),
      audit: { action: 'quota.remove' },
      handle: async ({ timers, limits }) => {
        await timers.setQuota(undefined, limits)
        return { outcome: 'removed' }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/keys',
      scope: 'admin',
      group: 'Keys',
      summary: 'All keys, without their secrets.',
      answer: Type.Object({ keys: Type.Array(ApiKeyBody) }),
      handle: async ({ timers, limits, admission }) => {
        await timers.bounded(limits, () => keys.refresh())
        const { namespace } = admission.key
        return { keys: keys.all.filter((key) => namespace === undefined || key.namespace === namespace) }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/keys',
      scope: 'admin',
      group: 'Keys',
      summary: 'Make a key. Only this answer contains its token.',
      description: 'Two keys of one name may be active, for rotation.',
      body: Type.Object(
        {
          name: Type.String({ minLength: 1, maxLength: 64 }),
          scope: Type.Union(scopes.map((scope) => Type.Literal(scope))),
          namespace: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
          expiresIn: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
        },
        closed,
      ),
      answer: Type.Object({ key: ApiKeyBody, token: Type.String() }),
      status: 201,
      refusals: [409],
      audit: {
        action: 'keys.create',
        describe: ({ admission, body }, answer) => ({
          ...(answer !== undefined && { subject: answer.key.id }),
          namespace: admission.key.namespace ?? body.namespace ?? null,
          details: { name: body.name, scope: body.scope, expiresIn: body.expiresIn },
        }),
      },
      handle: async ({ timers, limits, admission, body }) => {
        const own = admission.key.namespace
        if (own !== undefined && body.namespace !== undefined && body.namespace !== own)
          throw new RequestError('forbidden', `this key can make keys only for its own namespace, ${own}`)
        const wanted = {
          ...body,
          ...(own !== undefined && { namespace: own }),
          madeBy: admission.key,
        }
        return await timers.bounded(limits, (limit) => keys.create(wanted, () => limit.act()))
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/keys/{id}',
      scope: 'admin',
      group: 'Keys',
      summary: 'Revoke a key. Other instances refuse it within about two seconds.',
      params: Type.Object({ id: Type.String({ pattern: '^[0-9a-f]{12}$' }) }),
      answer: Outcome('revoked'),
      refusals: [404],
      audit: {
        action: 'keys.revoke',
        describe: ({ admission, params }) => ({
          subject: params.id,
          namespace: admission.key.namespace ?? null,
        }),
      },
      handle: async ({ timers, limits, admission, params }) => {
        const own = admission.key.namespace
        const isVisible =
          own === undefined || keys.all.some(({ id, namespace }) => id === params.id && namespace === own)
        if (!isVisible) throw new RequestError('key-unknown', `no key with id ${params.id}`)
        await timers.bounded(limits, (limit) => keys.revoke(params.id, () => limit.act()))
        return { outcome: 'revoked' }
      },
    }),
  ]
}
