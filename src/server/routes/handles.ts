import { Type } from '@sinclair/typebox'
import { RequestError } from '../../error/index.js'
import type { When } from '../../front/index.js'
import { parseHandle } from '../../timer/index.js'
import { outcomeAnswer } from '../http/outcome-answer.js'
import { type Call, type Route, route } from '../http/route.js'
import { Handle, MoveBody, Outcome, TimerBody } from '../http/schema/schema.js'
import { unknownTimer } from './timers.js'

const ByHandle = Type.Object({ handle: Handle })
const group = 'Timers by handle'

/** Get, move, cancel and fire exactly the timer of a handle, never a later one with the same key. */
export const handleRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/handles/{handle}',
    scope: 'read',
    group,
    summary: 'Get the timer of a handle.',
    params: ByHandle,
    answer: TimerBody,
    refusals: [404],
    handle: async (call) => {
      const { kind, key } = named(call)
      const timer = await call.timers.get(call.params.handle, call.limits)
      if (timer === undefined) throw unknownTimer(kind, key)
      call.reply.header('etag', `"${timer.revision}"`)
      return timer
    },
  }),
  route({
    method: 'DELETE',
    path: '/v1/handles/{handle}',
    scope: 'write',
    group,
    summary: 'Cancel the timer of a handle.',
    params: ByHandle,
    answer: Outcome('cancelled', 'ending'),
    refusals: [404, 409, 410],
    handle: async (call) =>
      outcomeAnswer(await call.timers.cancel(named(call).handle, call.limits), named(call)),
  }),
  route({
    method: 'POST',
    path: '/v1/handles/{handle}/move',
    scope: 'write',
    group,
    summary: 'Give the timer of a handle another due time.',
    params: ByHandle,
    body: MoveBody,
    answer: Outcome('moved'),
    refusals: [404, 409, 410],
    handle: async (call) =>
      outcomeAnswer(await call.timers.move(named(call).handle, call.body as When, call.limits), named(call)),
  }),
  route({
    method: 'POST',
    path: '/v1/handles/{handle}/fire',
    scope: 'write',
    group,
    summary: 'Fire the timer of a handle now.',
    params: ByHandle,
    answer: Outcome('moved'),
    refusals: [404, 409, 410],
    handle: async (call) =>
      outcomeAnswer(await call.timers.fireNow(named(call).handle, call.limits), named(call)),
  }),
]

/** The handle with its kind and key. Refuses a handle of another namespace. */
function named({ params, admission }: Call<{ readonly handle: string }, unknown, unknown>) {
  const { handle } = params
  const { namespace, kind, key } = parseHandle(handle)
  if (namespace !== admission.namespace)
    throw new RequestError('forbidden', 'this handle belongs to another namespace')
  return { handle, kind, key }
}
