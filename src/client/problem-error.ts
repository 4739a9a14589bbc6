import {
  type CarillonError,
  type ErrorCode,
  InvalidInputError,
  LimitError,
  RequestError,
  StateError,
  StoreError,
} from '../error/index.js'

/** The body of a server's error response (RFC 9457). */
export interface Problem {
  readonly code: string
  readonly detail: string
  /** The existing timer, after a conflict. */
  readonly current?: unknown
}

type ErrorClass = new (code: ErrorCode, message: string) => CarillonError

const limits = new Set([
  'engine-busy',
  'expression-too-long',
  'not-done',
  'payload-too-large',
  'quota-exceeded',
  'schedule-budget',
  'too-many-kinds',
  'too-many-listeners',
  'too-many-namespaces',
  'too-many-occurrences',
  'too-many-targets',
  'too-many-jobs',
  'too-many-timers',
  'too-many-waiting',
])
const states = new Set([
  'attempt-lost',
  'handler-exists',
  'handler-timeout',
  'handler-interrupted',
  'lease-ended',
  'maintenance-running',
  'not-leased',
  'protocol-mismatch',
  'secret-key-missing',
  'started',
  'starting',
  'stopped',
])
const inputs = new Set([
  'two-phase-commit',
  'handler-module',
  'never-matches',
  'payload-cannot-cross',
  'payload-refused',
  'refused-url',
  'schedule-ended',
  'unknown-option',
])
const stores = new Set(['fenced', 'owner-unreachable', 'partly-done', 'unknown-outcome', 'wrong-strategy'])

/** The class that the library uses for a code. Codes that only a server sends are `RequestError`s. */
function classOf(code: string): ErrorClass {
  if (code === 'invalid-body') return RequestError
  if (limits.has(code)) return LimitError
  if (states.has(code)) return StateError
  if (inputs.has(code) || code === 'unknown-kind' || code.startsWith('invalid-')) return InvalidInputError
  if (stores.has(code) || code.startsWith('store-')) return StoreError
  return RequestError
}

/** The typed error for a code and its detail. A newer server may send codes that are unknown here. */
export function errorOf({ code, detail }: Problem): CarillonError {
  return new (classOf(code))(code as ErrorCode, detail)
}

/** Reads a response body as a problem; undefined if it is none, such as the page of a proxy. */
export function problemIn(body: unknown): Problem | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { code, detail } = body as Partial<Problem>
  return typeof code === 'string' && typeof detail === 'string' ? (body as Problem) : undefined
}
