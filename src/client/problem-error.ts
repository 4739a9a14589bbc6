import {
  type CarillonError,
  type ErrorCode,
  InvalidInputError,
  LimitError,
  RequestError,
  StateError,
  StoreError,
} from '../error/index.js'

/** What a server answers with when it did not do what it was asked (RFC 9457). */
export interface Problem {
  readonly code: string
  readonly detail: string
  /** The timer that stands there, after a conflict. */
  readonly current?: unknown
}

type ErrorClass = new (code: ErrorCode, message: string) => CarillonError

const limits = new Set([
  'engine-busy',
  'expression-too-long',
  'payload-too-large',
  'quota-exceeded',
  'too-many-listeners',
  'too-many-namespaces',
  'too-many-occurrences',
  'too-many-targets',
  'too-many-waiting',
])
const states = new Set([
  'handler-exists',
  'handler-timeout',
  'lease-ended',
  'not-leased',
  'protocol-mismatch',
  'started',
  'stopped',
])
const inputs = new Set([
  'never-matches',
  'payload-refused',
  'refused-url',
  'schedule-ended',
  'unknown-option',
])
const stores = new Set(['fenced', 'owner-unreachable', 'partly-done', 'unknown-outcome', 'wrong-strategy'])

/** The class that the library itself would have thrown for a code; a request's for what only a server says. */
function classOf(code: string): ErrorClass {
  if (code === 'invalid-body') return RequestError
  if (limits.has(code)) return LimitError
  if (states.has(code)) return StateError
  if (inputs.has(code) || code === 'unknown-kind' || code.startsWith('invalid-')) return InvalidInputError
  if (stores.has(code) || code.startsWith('store-')) return StoreError
  return RequestError
}

/** The typed error that a code and its detail stand for. A newer server may have codes that are not known here. */
export function errorOf({ code, detail }: Problem): CarillonError {
  return new (classOf(code))(code as ErrorCode, detail)
}

/** Reads an answer's body as a problem; undefined when it is none, such as the page of a proxy. */
export function problemIn(body: unknown): Problem | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { code, detail } = body as Partial<Problem>
  return typeof code === 'string' && typeof detail === 'string' ? (body as Problem) : undefined
}
