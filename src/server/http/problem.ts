import { type CarillonError, type ErrorCode, errorCodes } from '../../error/index.js'
import { type Static, Type } from '@sinclair/typebox'

/** The body of every error answer: RFC 9457, with Carillon's error codes. */
export const Problem = Type.Object(
  {
    type: Type.String({ description: 'A URN that ends in the code.' }),
    title: Type.String({ description: 'What to do about it.' }),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    detail: Type.String({ description: 'What was wrong with this request.' }),
    code: Type.String({ description: 'Stable: programs may branch on it.' }),
    requestId: Type.Optional(Type.String({ description: "Finds the request in the server's log." })),
    current: Type.Optional(
      Type.Unknown({ 'x-schema': 'Json', description: 'After a conflict: the timer as it is now.' }),
    ),
  },
  { $id: 'Problem' },
)
export type Problem = Static<typeof Problem>

/** Codes whose status differs from that of their error class: 400 for the caller's errors, 500 for the server's. */
const statuses: Readonly<Partial<Record<ErrorCode, number>>> = Object.freeze({
  'body-too-large': 413,
  'dead-unknown': 404,
  'engine-busy': 503,
  fenced: 503,
  forbidden: 403,
  'handler-exists': 409,
  'idempotency-mismatch': 422,
  internal: 500,
  'key-limit': 409,
  'job-unknown': 404,
  'key-unknown': 404,
  'maintenance-running': 409,
  'method-unknown': 405,
  'not-over-http': 409,
  'owner-unreachable': 503,
  'partly-done': 503,
  'payload-too-large': 413,
  'quota-exceeded': 403,
  'rate-limited': 429,
  'not-done': 503,
  'not-leased': 409,
  'receipt-stale': 410,
  'request-timeout': 408,
  'revision-conflict': 412,
  'route-unknown': 404,
  starting: 503,
  'secret-key-missing': 503,
  stopped: 503,
  'store-full': 507,
  'store-failed': 503,
  'store-denied': 503,
  'store-read-only': 503,
  'store-unavailable': 503,
  'target-unknown': 404,
  'timer-firing': 409,
  'timer-settled': 410,
  'timer-unknown': 404,
  'too-many-kinds': 409,
  'too-many-listeners': 503,
  'too-many-namespaces': 503,
  'too-many-targets': 409,
  'too-many-waiting': 503,
  unauthorized: 401,
  'unknown-kind': 404,
  'unknown-outcome': 504,
  'unsupported-media': 415,
})

const callerErrors = new Set(['InvalidInputError', 'LimitError', 'RequestError'])

function statusOf(error: CarillonError): number {
  return statuses[error.code] ?? (callerErrors.has(error.name) ? 400 : 500)
}

/** The problem for an error. `more` adds or overrides fields. */
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
