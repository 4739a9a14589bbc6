import { Type } from '@sinclair/typebox'
import { Duration } from './schema.js'

/** The JSON of a worker's answers for its leases, alone and in a batch. */

const closed = { additionalProperties: false } as const

export const Receipt = Type.String({ minLength: 1, maxLength: 256 })

export const AckBody = Type.Object(
  {
    again: Type.Optional(
      Type.Union([
        Type.Object({ in: Duration }, closed),
        Type.Object({ at: Type.Number({ minimum: 0, maximum: 8.64e15 }) }, closed),
      ]),
    ),
    end: Type.Optional(
      Type.Boolean({ description: 'End a recurring timer: no further occurrence follows.' }),
    ),
  },
  closed,
)

export const ExtendBody = Type.Object({ duration: Duration }, closed)

export const ReleaseBody = Type.Object(
  {
    in: Type.Optional(Duration),
    reason: Type.Optional(Type.String({ maxLength: 1000 })),
    dead: Type.Optional(Type.Boolean()),
  },
  closed,
)
