import { Type } from '@sinclair/typebox'
import { CarillonError, RequestError } from '../../error/index.js'
import type { SetTimer, When } from '../../front/index.js'
import { type Idempotency, type RunOnce, timerKeyFrom } from '../http/idempotency/idempotency.js'
import { outcomeAnswer } from '../http/outcome-answer.js'
import { type Call, type Route, route } from '../http/route.js'
import {
  EpochMs,
  HistoryBody,
  Json,
  Key,
  Kind,
  MoveBody,
  Outcome,
  optionalBody,
  PauseNote,
  SetAnswer,
  SetBody,
  SetNewBody,
  TimerBody,
  CauseBody,
  DeadBody,
} from '../http/schema/schema.js'
import {
  changeOptionsOf,
  conditionOf,
  noCondition,
  type NamedKinds,
  pauseOptionsOf,
  setOptionsOf,
  withIdempotencyKey,
  withTraceparent,
} from '../http/set-input.js'

const closed = { additionalProperties: false } as const
const KindAndKey = Type.Object({ kind: Kind, key: Key })
const group = 'Timers'
// How often `If-Match: *` reads the timer again, because somebody else has changed it meanwhile.
const MAX_SET_TRIES = 5

/** Set, get, move, cancel and fire a timer by its kind and key. */
export function timerRoutes({
  kinds,
  idempotency,
}: {
  kinds: NamedKinds
  idempotency: Idempotency
}): Route[] {
  const set = async (
    call: Call<unknown, unknown, SetBody>,
    kind: string,
    key: string | undefined,
    { setKey }: RunOnce,
  ): Promise<SetAnswered> => {
    const { ifPresent, ...condition } = conditionOf(call.request)
    if (ifPresent === true && key !== undefined) return await setPresent(call, kind, key, setKey)
    return await setOnce(call, kind, key, setKey, ifPresent === undefined ? condition : noCondition)
  }

  const setOnce = async (
    call: Call<unknown, unknown, SetBody>,
    kind: string,
    key: string | undefined,
    setKey: string | undefined,
    condition: typeof noCondition,
  ): Promise<SetAnswered> => {
    const isFree = Object.keys(condition).length === 0
    const options = withIdempotencyKey(
      withTraceparent(setOptionsOf(call.body, isFree ? noCondition : condition), call.request),
      setKey,
      call.request,
    )
    const { timers, limits } = call
    const made = kinds.of(kind)
    return setAnswer(
      kind,
      await (key === undefined ? timers.set(made, options, limits) : timers.set(made, key, options, limits)),
    )
  }

  /** Sets a timer that exists, at whatever revision it is. The store compares revisions, so this reads it first. */
  const setPresent = async (
    call: Call<unknown, unknown, SetBody>,
    kind: string,
    key: string,
    setKey: string | undefined,
  ): Promise<SetAnswered> => {
    for (let tries = 1; ; tries++) {
      const current = await call.timers.get(kind, key, call.limits)
      if (current === undefined || current.state === 'settled')
        throw new RequestError('revision-conflict', `If-Match: *, but there is no timer ${kind}/${key}`)
      try {
        return await setOnce(call, kind, key, setKey, { ifRevision: current.revision })
      } catch (error) {
        const isConflict = error instanceof CarillonError && error.code === 'revision-conflict'
        if (!isConflict || tries === MAX_SET_TRIES) throw error
      }
    }
  }

  return [
    route({
      method: 'PUT',
      path: '/v1/timers/{kind}/{key}',
      scope: 'write',
      group,
      summary: 'Set a timer. It replaces a timer with the same key.',
      description:
        'With `If-None-Match: *` only if there is no such timer, with `If-Match: "7"` only if it is at revision 7, with `If-Match: *` only if there is one.',
      params: KindAndKey,
      body: SetBody,
      headers: ['if-match', 'if-none-match', 'idempotency-key'],
      answer: SetAnswer,
      refusals: [404, 412, 413, 422],
      handle: async (call) =>
        tagged(
          call,
          await idempotency.run(call, (_, once) => set(call, call.params.kind, call.params.key, once)),
        ),
    }),
    route({
      method: 'POST',
      path: '/v1/timers/{kind}',
      scope: 'write',
      group,
      summary: 'Set a timer under a generated key, unless the body has one.',
      params: Type.Object({ kind: Kind }),
      body: SetNewBody,
      headers: ['idempotency-key'],
      answer: SetAnswer,
      status: 201,
      refusals: [412, 413, 422],
      handle: async (call) => {
        const { kind } = call.params
        const answer = await idempotency.run(call, async (idempotencyKey, once) => {
          const derived =
            idempotencyKey === undefined ? undefined : timerKeyFrom(call.admission, idempotencyKey)
          return await set(call, kind, call.body.key ?? derived, once)
        })
        call.reply.header(
          'location',
          `/v1/timers/${encodeURIComponent(kind)}/${encodeURIComponent(answer.key)}`,
        )
        return tagged(call, answer)
      },
    }),
    route({
      method: 'GET',
      path: '/v1/timers/{kind}/{key}',
      scope: 'read',
      group,
      summary: 'Get a timer.',
      params: KindAndKey,
      answer: TimerBody,
      refusals: [404],
      handle: async ({ timers, params, reply, limits }) => {
        const timer = await timers.get(params.kind, params.key, limits)
        if (timer === undefined) throw unknownTimer(params.kind, params.key)
        reply.header('etag', `"${timer.revision}"`)
        return timer
      },
    }),
    route({
      method: 'PATCH',
      path: '/v1/timers/{kind}/{key}',
      scope: 'write',
      group,
      summary: 'Change the payload or the tags of a timer, and nothing else.',
      description:
        'It keeps its due time, its schedule and its attempts, and gets a new handle. `timer-firing` also for a timer that is due within five seconds.',
      params: KindAndKey,
      body: Type.Object(
        {
          payload: Type.Optional(Json),
          tags: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { maxItems: 16 })),
        },
        { ...closed, minProperties: 1 },
      ),
      headers: ['if-match'],
      answer: Type.Object({
        outcome: Type.Literal('edited'),
        handle: Type.String(),
        dueAt: EpochMs,
        revision: Type.Optional(Type.Integer()),
      }),
      refusals: [404, 409, 412, 413, 422],
      handle: async ({ timers, params, body, request, limits }) => {
        const { kind, key } = params
        const edited = await timers.edit(kind, key, body, changeOptionsOf(request, limits))
        return edited.outcome === 'edited' ? edited : outcomeAnswer(edited.outcome, params)
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/timers/{kind}/{key}',
      scope: 'write',
      group,
      summary: 'Cancel a timer. No attempt starts afterwards.',
      description: 'ending: a recurring timer fires now, and the attempt that runs is its last one.',
      params: KindAndKey,
      headers: ['if-match'],
      answer: Outcome('cancelled', 'ending'),
      refusals: [404, 409, 410, 412],
      handle: async ({ timers, params, request, limits }) =>
        outcomeAnswer(await timers.cancel(params.kind, params.key, changeOptionsOf(request, limits)), params),
    }),
    route({
      method: 'POST',
      path: '/v1/timers/{kind}/{key}/move',
      scope: 'write',
      group,
      summary: 'Give a timer another due time. It keeps its payload.',
      params: KindAndKey,
      body: MoveBody,
      headers: ['if-match'],
      answer: Outcome('moved'),
      refusals: [404, 409, 410, 412],
      handle: async ({ timers, params, body, request, limits }) =>
        outcomeAnswer(
          await timers.move(params.kind, params.key, body as When, changeOptionsOf(request, limits)),
          params,
        ),
    }),
    route({
      method: 'POST',
      path: '/v1/timers/{kind}/{key}/fire',
      scope: 'write',
      group,
      summary: 'Fire a timer now.',
      params: KindAndKey,
      headers: ['if-match'],
      answer: Outcome('moved'),
      refusals: [404, 409, 410, 412],
      handle: async ({ timers, params, request, limits }) =>
        outcomeAnswer(
          await timers.fireNow(params.kind, params.key, changeOptionsOf(request, limits)),
          params,
        ),
    }),
    route({
      method: 'POST',
      path: '/v1/timers/{kind}/{key}/pause',
      scope: 'write',
      group,
      summary: 'Pause a timer. It keeps its due time.',
      params: KindAndKey,
      body: Type.Object({ note: PauseNote }, { ...closed, ...optionalBody }),
      answer: Outcome('paused'),
      refusals: [404, 409, 410],
      handle: async ({ timers, params, limits, admission, body }) =>
        outcomeAnswer(
          await timers.pause(params.kind, params.key, pauseOptionsOf(limits, admission, body.note)),
          params,
        ),
    }),
    route({
      method: 'POST',
      path: '/v1/timers/{kind}/{key}/resume',
      scope: 'write',
      group,
      summary: 'Resume a timer.',
      params: KindAndKey,
      answer: Outcome('resumed'),
      refusals: [404, 409, 410],
      handle: async ({ timers, params, limits }) =>
        outcomeAnswer(await timers.resume(params.kind, params.key, limits), params),
    }),
    route({
      method: 'GET',
      path: '/v1/timers/{kind}/{key}/why',
      scope: 'read',
      group,
      summary: 'Everything known about a key: the timer, its history and its dead letters, in order.',
      params: KindAndKey,
      answer: Type.Object({
        timer: Type.Optional(TimerBody),
        events: Type.Array(HistoryBody),
        dead: Type.Array(DeadBody),
        told: Type.Array(Type.String()),
        causes: Type.Array(CauseBody, { description: 'Why a due timer does not fire.' }),
      }),
      refusals: [404],
      handle: async ({ timers, params, limits }) => await timers.why(params.kind, params.key, limits),
    }),
  ]
}

type SetAnswered = SetTimer & { readonly kind: string }

function setAnswer(kind: string, set: SetTimer): SetAnswered {
  const { outcome, key, handle, dueAt, revision } = set
  const current = { key, handle, dueAt, revision }
  // Written out, because a spread costs several times as much.
  if (outcome !== 'conflict') return { outcome, kind, key, handle, dueAt, revision }
  const error = new RequestError('revision-conflict', `the condition on ${kind} ${set.key} failed`)
  throw Object.assign(error, { current })
}

/** Sends the revision as the ETag, for a later `If-Match`. */
function tagged({ reply }: Call<unknown, unknown, unknown>, answer: SetAnswered): SetAnswered {
  if (answer.revision !== undefined) reply.header('etag', `"${answer.revision}"`)
  return answer
}

export function unknownTimer(kind: string, key: string): RequestError {
  return new RequestError('timer-unknown', `no timer ${kind} ${JSON.stringify(key)}`)
}
