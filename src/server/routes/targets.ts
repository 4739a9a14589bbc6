import { Type } from '@sinclair/typebox'
import { RequestError, shown } from '../../error/index.js'
import { parseDuration } from '../../time/index.js'
import { MAX_WEBHOOK_ANSWER_BYTES, MAX_WEBHOOK_CONNECTIONS, MAX_WEBHOOK_TIMEOUT_MS } from '../defaults.js'
import { type Route, route } from '../http/route.js'
import { Duration, Kind, Outcome, Retry } from '../http/schema/schema.js'

const closed = { additionalProperties: false } as const
const group = 'Targets'

const common = { retry: Type.Optional(Retry) }
const concurrency = Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 }))
const webhookFields = {
  type: Type.Literal('webhook'),
  url: Type.String({ minLength: 1, maxLength: 2048 }),
  timeout: Type.Optional(Duration),
  concurrency: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_WEBHOOK_CONNECTIONS })),
  rate: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  pipelining: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  maxAnswerBytes: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_WEBHOOK_ANSWER_BYTES })),
  batch: Type.Optional(
    Type.Object(
      { most: Type.Integer({ minimum: 1, maximum: 1000 }), wait: Type.Optional(Duration) },
      { ...closed, description: 'Several firings in one message.' },
    ),
  ),
  breaker: Type.Optional(
    Type.Union([
      Type.Literal(false),
      Type.Object(
        {
          failures: Type.Optional(Type.Integer({ minimum: 1 })),
          pause: Type.Optional(Duration),
          maxPause: Type.Optional(Duration),
        },
        closed,
      ),
    ]),
  ),
  ...common,
}
const leaseFields = {
  type: Type.Literal('lease'),
  duration: Type.Optional(Duration),
  concurrency,
  ...common,
}
const logFields = { type: Type.Literal('log'), ...common }

const Secret = Type.String({
  minLength: 1,
  maxLength: 512,
  description: 'whsec_ and 24 to 64 bytes in base64.',
})

export const TargetInput = Type.Union([
  Type.Object(
    {
      ...webhookFields,
      secret: Type.Optional(
        Type.Union([Secret, Type.Array(Secret, { minItems: 1, maxItems: 8 })], {
          description: 'Without it, a replaced target keeps its secrets.',
        }),
      ),
      grace: Type.Optional(
        Type.Union([Duration], {
          description:
            'How long replaced secrets go on signing beside the new ones, up to 30 days. Default: not at all.',
        }),
      ),
      headers: Type.Optional(Type.Record(Type.String(), Type.String({ maxLength: 4096 }))),
    },
    closed,
  ),
  Type.Object(leaseFields, closed),
  Type.Object(logFields, closed),
])

/** A target as answers show it: never with a secret. */
export const TargetBody = Type.Object(
  {
    kind: Type.String(),
    version: Type.Integer(),
    type: Type.Union(
      [Type.Literal('webhook'), Type.Literal('lease'), Type.Literal('log'), Type.Literal('sealed')],
      { description: '`sealed`: this instance does not have its secret key.' },
    ),
    url: Type.Optional(Type.String()),
    secretIds: Type.Optional(Type.Array(Type.String())),
    earlierSecrets: Type.Optional(Type.Array(Type.Object({ id: Type.String(), until: Type.Integer() }))),
    headerNames: Type.Optional(Type.Array(Type.String())),
  },
  { additionalProperties: true },
)

const OfKind = Type.Object({ kind: Kind })

/** Targets: where the timers of a kind go. Timers of a kind without a target wait. */
export const targetRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/targets',
    scope: 'read',
    group,
    summary: 'The targets of all kinds, without their secrets.',
    answer: Type.Object({ targets: Type.Array(TargetBody) }),
    handle: async ({ timers, limits }) => ({ targets: await timers.listTargets(limits) }),
  }),
  route({
    method: 'GET',
    path: '/v1/targets/{kind}',
    scope: 'read',
    group,
    summary: 'The target of a kind, without its secrets.',
    params: OfKind,
    answer: TargetBody,
    refusals: [404],
    handle: async ({ timers, limits, params: { kind } }) => {
      const target = await timers.getTarget(kind, limits)
      if (target === undefined) throw noTarget(kind)
      return target
    },
  }),
  route({
    method: 'PUT',
    path: '/v1/targets/{kind}',
    scope: 'admin',
    group,
    summary: 'Set the target of a kind: a webhook, workers that lease firings, or the log.',
    description: 'Other instances apply it within about two seconds.',
    params: OfKind,
    body: TargetInput,
    answer: TargetBody,
    audit: {
      action: 'targets.set',
      // Paths and queries of URLs often contain secrets.
      describe: ({ params, body }) => ({
        subject: params.kind,
        details: { type: body.type, origin: 'url' in body ? originOf(body.url) : undefined },
      }),
    },
    handle: async ({ timers, limits, params: { kind }, body }) => {
      if (body.type === 'webhook' && body.timeout !== undefined) checkTimeout(body.timeout)
      return await timers.setTarget(kind, body, limits)
    },
  }),
  route({
    method: 'DELETE',
    path: '/v1/targets/{kind}',
    scope: 'admin',
    group,
    summary: 'Remove the target of a kind. Its timers then wait.',
    params: OfKind,
    answer: Outcome('removed'),
    refusals: [404],
    audit: { action: 'targets.remove', describe: ({ params }) => ({ subject: params.kind }) },
    handle: async ({ timers, limits, params: { kind } }) => {
      if ((await timers.removeTarget(kind, limits)) === 'unknown') throw noTarget(kind)
      return { outcome: 'removed' }
    },
  }),
]

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined
}

function noTarget(kind: string): RequestError {
  return new RequestError('target-unknown', `kind ${JSON.stringify(kind)} has no target`)
}

/** An attempt that waits holds a connection and memory of the server. */
function checkTimeout(timeout: string | number): void {
  if (parseDuration(timeout) <= MAX_WEBHOOK_TIMEOUT_MS) return
  throw new RequestError(
    'invalid-body',
    `timeout of a webhook may be ${MAX_WEBHOOK_TIMEOUT_MS / 60_000} minutes at most, got ${shown(timeout)}`,
  )
}
