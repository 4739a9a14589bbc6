import { InvalidInputError, shown } from '../error/index.js'
import { knownDetails } from './details/details.js'
import type { Firing } from './firing.js'

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/** Whether a string is a `traceparent` of W3C Trace Context. */
export function isTraceparent(text: string): boolean {
  return TRACEPARENT.test(text) && !text.startsWith('ff')
}

export function checkTraceparent(text: unknown): void {
  if (typeof text === 'string' && isTraceparent(text)) return
  throw new InvalidInputError(
    'invalid-option',
    `traceparent must be a string such as 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01, got ${shown(text)}`,
  )
}

/** The trace of a firing: that of its attempt, or else the one in which its timer was set. */
export function traceparentOf({ traceparent, row }: Firing): string | undefined {
  if (traceparent !== undefined || row.details === '') return traceparent
  return knownDetails(row.details).trace
}
