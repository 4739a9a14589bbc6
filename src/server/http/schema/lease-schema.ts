import { type Static, Type } from '@sinclair/typebox'
import { epochMsOf } from '../../../timer/index.js'
import { Duration, Instant } from './schema.js'

/** The JSON of a worker's answers for its leases, alone and in a batch. */

const closed = { additionalProperties: false } as const

export const Receipt = Type.String({ minLength: 1, maxLength: 256 })

export const AckBody = Type.Object(
  {
    again: Type.Optional(
      Type.Union([Type.Object({ in: Duration }, closed), Type.Object({ at: Instant }, closed)]),
    ),
    end: Type.Optional(
      Type.Boolean({ description: 'End a recurring timer: no further occurrence follows.' }),
    ),
  },
  closed,
)

interface AckOptions {
  readonly again?: { readonly in: number | string } | { readonly at: number }
  readonly end?: boolean
}

/** What a worker asks for, with its instant as epoch milliseconds. */
export function ackOptionsOf({ again, ...rest }: Static<typeof AckBody>): AckOptions {
  if (again === undefined) return rest
  return { ...rest, again: 'at' in again ? { at: epochMsOf(again.at) } : again }
}

export const ExtendBody = Type.Object({ duration: Duration }, closed)

export const ReleaseBody = Type.Object(
  {
    in: Type.Optional(Duration),
    reason: Type.Optional(Type.String({ maxLength: 1000 })),
    dead: Type.Optional(Type.Boolean()),
  },
  closed,
)
