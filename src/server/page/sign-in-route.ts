import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { StateError } from '../../error/index.js'
import type { AuditLog } from '../audit/audit-log.js'
import type { SignInLinks } from './sign-in-links.js'

const SignInBody = Type.Object(
  { code: Type.String({ minLength: 1, maxLength: 64 }) },
  { additionalProperties: false },
)

/** Adds `POST /v1/sign-in`: it exchanges the code of a sign-in link for a key. Like the page, it needs no key. */
export function addSignIn(
  app: FastifyInstance,
  parts: {
    readonly links: SignInLinks
    readonly audit: AuditLog
    readonly bounded: <Answer>(call: () => Promise<Answer>) => Promise<Answer>
    readonly isStarting: () => boolean
  },
): void {
  app.post<{ Body: { readonly code: string } }>(
    '/v1/sign-in',
    { schema: { body: SignInBody } },
    async (request, reply) => {
      if (parts.isStarting())
        throw new StateError('starting', 'this instance is starting: try again in a second')
      const made = await parts.bounded(() => parts.links.exchange(request.body.code, request.ip))
      const { id, name } = made.key
      await parts.bounded(() =>
        parts.audit.record({
          action: 'sign-in',
          outcome: 'done',
          subject: id,
          key: { id, name },
          from: request.ip,
          requestId: request.id,
        }),
      )
      return reply.code(201).send(made)
    },
  )
}
