import { Type } from '@sinclair/typebox'
import type { ApiKeys } from '../api-keys.js'
import { scopes } from '../api-keys.js'
import { type Route, route } from '../route.js'
import { Kind, Outcome } from '../schema.js'
import { RequestError } from '../../error/index.js'

const closed = { additionalProperties: false } as const
const MaybeKind = Type.Object({ kind: Type.Optional(Kind) }, closed)

const ApiKeyBody = Type.Object({
  id: Type.String(),
  name: Type.String(),
  scope: Type.Union(scopes.map((scope) => Type.Literal(scope))),
  namespace: Type.Optional(Type.String({ description: 'Absent for one that opens all namespaces.' })),
  createdAt: Type.Number(),
  expiresAt: Type.Optional(Type.Number()),
})

/** Pauses, kinds and keys. */
export function steeringRoutes(keys: ApiKeys): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/kinds',
      scope: 'read',
      group: 'Kinds',
      summary: 'The kinds that were set or handled in the namespace.',
      answer: Type.Object({ kinds: Type.Array(Type.String()) }),
      handle: async ({ timers }) => ({ kinds: await timers.kinds() }),
    }),
    route({
      method: 'GET',
      path: '/v1/pauses',
      scope: 'read',
      group: 'Kinds',
      summary: 'What is paused: kinds, or everything.',
      answer: Type.Object({ all: Type.Boolean(), kinds: Type.Array(Type.String()) }),
      handle: ({ timers }) => timers.paused(),
    }),
    route({
      method: 'POST',
      path: '/v1/pause',
      scope: 'write',
      group: 'Kinds',
      summary: 'Pause a kind, or everything in the namespace. What falls due meanwhile waits.',
      body: MaybeKind,
      answer: Outcome('paused'),
      refusals: [404],
      handle: async ({ timers, body: { kind } }) => ({
        outcome: await (kind === undefined ? timers.pause() : timers.pause(kind)),
      }),
    }),
    route({
      method: 'POST',
      path: '/v1/resume',
      scope: 'write',
      group: 'Kinds',
      summary: 'End the pause of a kind, or of everything.',
      body: MaybeKind,
      answer: Outcome('resumed'),
      refusals: [404],
      handle: async ({ timers, body: { kind } }) => ({
        outcome: await (kind === undefined ? timers.resume() : timers.resume(kind)),
      }),
    }),
    route({
      method: 'GET',
      path: '/v1/keys',
      scope: 'admin',
      group: 'Keys',
      summary: 'The keys there are, without their secrets.',
      answer: Type.Object({ keys: Type.Array(ApiKeyBody) }),
      handle: async ({ admission }) => {
        await keys.look()
        const { namespace } = admission.key
        return { keys: keys.all.filter((key) => namespace === undefined || key.namespace === namespace) }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/keys',
      scope: 'admin',
      group: 'Keys',
      summary: 'Make a key. Its text is in this answer and nowhere else.',
      description: 'Two keys of one name may be alive, so that one can follow the other.',
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
      handle: async ({ admission, body }) => {
        const own = admission.key.namespace
        if (own !== undefined && body.namespace !== undefined && body.namespace !== own)
          throw new RequestError('forbidden', 'this key makes keys for its own namespace only')
        return await keys.create({ ...body, ...(own !== undefined && { namespace: own }) })
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/keys/{id}',
      scope: 'admin',
      group: 'Keys',
      summary: 'Revoke a key. Other instances hear of it within about two seconds.',
      params: Type.Object({ id: Type.String({ pattern: '^[0-9a-f]{12}$' }) }),
      answer: Outcome('revoked'),
      refusals: [404],
      handle: async ({ admission, params }) => {
        const own = admission.key.namespace
        const isIts =
          own === undefined || keys.all.some(({ id, namespace }) => id === params.id && namespace === own)
        if (!isIts) throw new RequestError('key-unknown', `there is no key of the id ${params.id}`)
        await keys.revoke(params.id)
        return { outcome: 'revoked' }
      },
    }),
  ]
}
