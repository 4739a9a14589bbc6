import { InvalidInputError, shown } from '../error/index.js'
import { decodeDetails } from './details.js'
import type { Firing } from './firing.js'

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/** Whether a text is a `traceparent` as W3C Trace Context has it. */
export function isTraceparent(text: string): boolean {
  return TRACEPARENT.test(text) && !text.startsWith('ff')
}

export function checkTraceparent(text: unknown): void {
  if (typeof text === 'string' && isTraceparent(text)) return
  throw new InvalidInputError(
    'invalid-option',
    `traceparent is a text such as 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01, got ${shown(text)}`,
  )
}

/** The trace that a firing belongs to: of its attempt where that is traced, else the one its timer was set in. */
export function traceparentOf({ traceparent, row }: Firing): string | undefined {
  if (traceparent !== undefined || row.details === '') return traceparent
  return decodeDetails(row.details).trace
}
