import { InvalidInputError, shown } from '../error/index.js'
import { checkKey, checkKind } from '../timer/index.js'
import type { InstantGiven, KindGiven, SetInput } from './wire.js'

export function nameOf(kind: KindGiven): string {
  const name = typeof kind === 'string' ? kind : kind?.name
  checkKind(name)
  return name
}

/** An instant as JSON. */
function instantOf(instant: InstantGiven): number | string {
  if (typeof instant === 'number' || typeof instant === 'string') return instant
  if (instant instanceof Date) return instant.getTime()
  return instant?.epochMilliseconds
}

export function maybeInstant(instant: InstantGiven | undefined): number | string | undefined {
  return instant === undefined ? undefined : instantOf(instant)
}

/** The body of a set. Refuses a payload that JSON omits, because it would come back changed. */
export function setBodyOf(input: SetInput): object {
  const { payload, at } = input
  if (payload !== undefined && !isJson(payload)) {
    throw new InvalidInputError('invalid-payload', `the payload cannot be written as JSON: ${shown(payload)}`)
  }
  const { notAfter } = input
  const isLimited = notAfter !== undefined && 'at' in notAfter && notAfter.at !== undefined
  return {
    ...input,
    ...(at !== undefined && { at: instantOf(at) }),
    ...(isLimited && { notAfter: { at: instantOf(notAfter.at) } }),
  }
}

function isJson(payload: unknown): boolean {
  try {
    return JSON.stringify(payload) !== undefined
  } catch {
    return false
  }
}

/** A key for a timer without one. It is generated here, so that a retry does not make a second timer. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (word) =>
    word.toString(36).padStart(7, '0'),
  ).join('')
}

export function timerPath(kind: KindGiven, key: string): string {
  checkKey(key)
  return `/v1/timers/${segmentOf(nameOf(kind))}/${segmentOf(key)}`
}

/** A name as a path segment. */
export function segmentOf(name: string): string {
  if (name === '.' || name === '..')
    throw new InvalidInputError(
      'invalid-key',
      `${shown(name)} cannot be a segment of a URL: use another name`,
    )
  return encodeURIComponent(name)
}
