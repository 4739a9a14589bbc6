import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { saying } from './mismatch-text.js'

/** The JSON of requests and answers. The same schemas check requests and build the OpenAPI document. */

const closed = { additionalProperties: false } as const

export const Kind = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'Selects the target that gets the timer.',
})
export const Key = Type.String({
  minLength: 1,
  maxLength: 512,
  description: 'The name of the timer within its kind.',
})
export const Handle = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: 'Finds exactly this timer, never a later one with the same key.',
})
const Revision = Type.Integer({ minimum: 0, description: 'Rises with every change to the timer.' })
export const EpochMs = Type.Number({ description: 'Epoch milliseconds.' })

/** Stands for a schema that only the document has: what it checks or answers is not restricted. */
export function shownAs(name: 'Json' | 'Schedule' | 'ScheduleInput', description?: string) {
  return { 'x-schema': name, ...(description !== undefined && { description }) }
}

/** Of a body that may be left out: then it counts as `{}`. */
export const optionalBody = { 'x-optional': true } as const

/** Any JSON value. */
export const Json = Type.Unknown(shownAs('Json'))
export const Duration = saying(
  Type.Union([Type.Number({ minimum: 0 }), Type.String({ minLength: 1, maxLength: 64 })], {
    description: "Milliseconds, '5m', '1h30m' or 'PT5M'.",
  }),
  "milliseconds, or a duration such as '5m', '1h30m' or 'PT5M'",
)
export const Instant = saying(
  Type.Union([Type.Number(), Type.String({ minLength: 1, maxLength: 64 })], {
    description: "Epoch milliseconds, or a string with an offset such as '2027-01-31T09:00:00Z'.",
  }),
  "epoch milliseconds, or a string such as '2027-01-31T09:00:00Z'",
)

export const ScheduleInput = saying(
  Type.Union(
    [
      Type.String({ minLength: 1, maxLength: 1024 }),
      Type.Object({ type: Type.String({ maxLength: 32 }) }, { additionalProperties: true }),
    ],
    shownAs(
      'ScheduleInput',
      "A cron expression in UTC, or a schedule such as { type: 'cron', expression: '0 9 * * *', zone: 'Europe/Paris' }.",
    ),
  ),
  "a cron expression, or a schedule such as { type: 'daily', at: '09:00' }",
)

const when = {
  in: Type.Optional(Duration),
  at: Type.Optional(Instant),
}

export const Retry = Type.Object(
  {
    attempts: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
    backoff: Type.Optional(Type.String({ maxLength: 64 })),
    maxDuration: Type.Optional(Duration),
  },
  closed,
)

const setting = {
  ...when,
  on: Type.Optional(ScheduleInput),
  payload: Type.Optional(Type.Unknown(shownAs('Json', 'Any JSON. The firing carries it.'))),
  tags: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { maxItems: 16 })),
  retry: Type.Optional(Retry),
  notAfter: Type.Optional(
    Type.Object(
      { within: Type.Optional(Duration), at: Type.Optional(Instant) },
      { ...closed, description: 'No attempt starts later than this. One of within and at.' },
    ),
  ),
  ifAbsent: Type.Optional(Type.Boolean({ description: 'Only if no timer has this key.' })),
  ifRevision: Type.Optional(Revision),
  idempotencyKey: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 512,
      description:
        'The same set with the same key is one timer, at every instance, while it is there or remembered. Default: from the `Idempotency-Key` header.',
    }),
  ),
  traceparent: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$',
      description:
        'The trace that deliveries belong to (W3C Trace Context). Default: the `traceparent` header.',
    }),
  ),
}

export const SetBody = Type.Object(setting, { ...closed, description: 'Exactly one of in, at and on.' })
export type SetBody = Static<typeof SetBody>
export const SetNewBody = Type.Object({ key: Type.Optional(Key), ...setting }, closed)

export const MoveBody = Type.Object(when, { ...closed, description: 'Exactly one of in and at.' })

export const SetAnswer = Type.Object({
  outcome: Type.Union([Type.Literal('set'), Type.Literal('unchanged')], {
    description: 'unchanged: the timer was there with the same schedule, payload, tags and options.',
  }),
  kind: Type.String(),
  key: Type.String(),
  handle: Type.String(),
  dueAt: EpochMs,
  revision: Type.Optional(Type.Integer({ description: 'Absent if another instance owns the shard.' })),
})

/** Why, since when and by whom something is paused. */
export const PauseBody = Type.Object({
  note: Type.Optional(Type.String()),
  since: Type.Optional(EpochMs),
  by: Type.Optional(Type.String({ description: 'The name of an API key.' })),
  isTargetGone: Type.Optional(
    Type.Boolean({ description: 'It was paused because its target answered 410.' }),
  ),
})
export const PauseNote = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 500,
    description: 'Why. Operators see it, with the name of the key.',
  }),
)

export const TimerBody = Type.Object({
  namespace: Type.String(),
  kind: Type.String(),
  key: Type.String(),
  handle: Type.String(),
  revision: Type.Integer(),
  state: Type.Union(
    ['waiting', 'firing', 'paused', 'settled'].map((state) => Type.Literal(state)),
    { description: 'settled: the timer has ended, and the store still remembers it.' },
  ),
  settled: Type.Optional(
    Type.Object(
      {
        outcome: Type.Union(['done', 'dead', 'missed'].map((outcome) => Type.Literal(outcome))),
        at: EpochMs,
        reason: Type.Optional(Type.String()),
      },
      { description: 'How it ended. A timer that was done ended no earlier than `at`.' },
    ),
  ),
  dueAt: EpochMs,
  createdAt: EpochMs,
  attempts: Type.Integer(),
  occurrence: Type.Integer(),
  payload: Type.Optional(Json),
  tags: Type.Array(Type.String()),
  pause: Type.Optional(PauseBody),
  causes: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Why the timer has not started although it is overdue by more than a second, such as `kind-paused`, `unhandled` or `no-owner`. `/why` has them as sentences.',
    }),
  ),
  fault: Type.Optional(
    Type.String({ description: 'Why the timer cannot be read. It becomes a dead letter when it is due.' }),
  ),
  on: Type.Optional(Type.Unknown(shownAs('Schedule', 'Absent for a timer that fires once.'))),
})

export const DeadBody = Type.Object({
  id: Type.String(),
  kind: Type.String(),
  key: Type.String(),
  dueAt: EpochMs,
  diedAt: EpochMs,
  reason: Type.String(),
  attempts: Type.Integer(),
  payload: Type.Optional(Json),
})

export const HistoryBody = Type.Object(
  { at: EpochMs, event: Type.String(), kind: Type.String(), key: Type.String() },
  { additionalProperties: true },
)

const Cursor = Type.String({ minLength: 1, maxLength: 4096, description: 'The cursor of the previous page.' })

export const page = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'Default 100.' })),
  cursor: Type.Optional(Cursor),
}

/** An instant in a query, where every value is a string. */
export const InstantText = Type.String({
  minLength: 1,
  maxLength: 64,
  description: "Epoch milliseconds, or a string such as '2027-01-31T09:00:00Z'.",
})
export const DurationText = Type.String({
  minLength: 1,
  maxLength: 64,
  description: "'1h', '1d' or milliseconds.",
})

export function Page<Item extends TSchema>(item: Item) {
  return Type.Object({
    items: Type.Array(item),
    cursor: Type.Optional(Type.String({ description: 'Absent on the last page.' })),
  })
}

export function Outcome<const Name extends string>(...names: readonly Name[]) {
  return Type.Object({ outcome: Type.Union(names.map((name) => Type.Literal(name))) })
}

/** One row of a batch. */
export const BatchRow = Type.Object(
  {
    do: Type.Optional(
      Type.Union([Type.Literal('set'), Type.Literal('move'), Type.Literal('cancel')], {
        description: 'Default set.',
      }),
    ),
    kind: Type.Optional(Kind),
    key: Type.Optional(Key),
    handle: Type.Optional(Handle),
    ...setting,
  },
  { ...closed, description: 'A set has a kind. A move and a cancel have kind and key, or a handle.' },
)
export type BatchRow = Static<typeof BatchRow>

/** The answer to one row: its outcome, with `code` and `detail` if it was refused or failed. */
export const BatchAnswer = Type.Object({
  outcome: Type.Union(
    [
      'set',
      'unchanged',
      'conflict',
      'moved',
      'cancelled',
      'ending',
      'firing',
      'settled',
      'unknown',
      'refused',
      'failed',
    ].map((name) => Type.Literal(name)),
  ),
  kind: Type.Optional(Type.String()),
  key: Type.Optional(Type.String()),
  handle: Type.Optional(Type.String()),
  dueAt: Type.Optional(EpochMs),
  revision: Type.Optional(Type.Integer()),
  code: Type.Optional(Type.String()),
  detail: Type.Optional(Type.String()),
})
export type BatchAnswer = {
  readonly outcome: string
  readonly kind?: string
  readonly key?: string
  readonly handle?: string
  readonly dueAt?: number
  readonly revision?: number
  readonly code?: string
  readonly detail?: string
}

/** Why due timers do not fire. */
export const CauseBody = Type.Object({
  code: Type.String(),
  text: Type.String(),
  remedy: Type.String({ description: 'What to do about it.' }),
})
