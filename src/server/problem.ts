import { type CarillonError, type ErrorCode, errorCodes } from '../error/index.js'
import { type Static, Type } from '@sinclair/typebox'

/** What a request that was not carried out is answered with: RFC 9457, with our codes. */
export const Problem = Type.Object(
  {
    type: Type.String({ description: 'A URN that ends in the code.' }),
    title: Type.String({ description: 'What to do about it.' }),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    detail: Type.String({ description: 'What was got and what was wanted.' }),
    code: Type.String({ description: 'Stable: programs may branch on it.' }),
    requestId: Type.Optional(Type.String({ description: 'Finds the request in the log of the server.' })),
    current: Type.Optional(Type.Unknown({ description: 'The timer that stands there, after a conflict.' })),
  },
  { $id: 'Problem' },
)
export type Problem = Static<typeof Problem>

/** Codes that are not what their class is otherwise: the rest of the caller's faults is 400, of ours 500. */
const statuses: Readonly<Partial<Record<ErrorCode, number>>> = Object.freeze({
  'body-too-large': 413,
  'engine-busy': 503,
  fenced: 503,
  forbidden: 403,
  'handler-exists': 409,
  'idempotency-mismatch': 422,
  internal: 500,
  'key-limit': 409,
  'key-unknown': 404,
  'owner-unreachable': 503,
  'partly-done': 503,
  'payload-too-large': 413,
  'quota-exceeded': 403,
  'rate-limited': 429,
  'not-leased': 409,
  'receipt-stale': 410,
  'request-timeout': 408,
  'revision-conflict': 412,
  'route-unknown': 404,
  stopped: 503,
  'store-full': 507,
  'store-unavailable': 503,
  'target-unknown': 404,
  'timer-firing': 409,
  'timer-settled': 410,
  'timer-unknown': 404,
  'too-many-listeners': 503,
  'too-many-namespaces': 503,
  'too-many-targets': 409,
  'too-many-waiting': 503,
  unauthorized: 401,
  'unknown-kind': 404,
  'unknown-outcome': 504,
  'unsupported-media': 415,
})

const callersFaults = new Set(['InvalidInputError', 'LimitError', 'RequestError'])

function statusOf(error: CarillonError): number {
  return statuses[error.code] ?? (callersFaults.has(error.name) ? 400 : 500)
}

/** The problem that an error of ours is; more may be said beside it. */
export function problemOf(error: CarillonError, more: Partial<Problem> = {}): Problem {
  return {
    type: `urn:carillon:error:${error.code}`,
    title: errorCodes[error.code],
    status: statusOf(error),
    detail: error.message,
    code: error.code,
    ...more,
  }
}
