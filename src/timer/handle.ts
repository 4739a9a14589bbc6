import { InvalidInputError, shown } from '../error/index.js'
import { identityText } from './identity.js'
import type { TimerName } from './timer-row.js'

/** Finds one life of a key: an opaque text that never hits a later timer of the same name. */
export type TimerHandle = string

const PREFIX = 't1.'

export function handleOf(timer: TimerName & { readonly identity: number }): TimerHandle {
  // Names cannot contain U+0000, so the parts cannot run into each other.
  const text = `${timer.namespace}\0${timer.kind}\0${timer.key}\0${identityText(timer.identity)}`
  return PREFIX + Buffer.from(text).toString('base64url')
}

export function parseHandle(handle: unknown): TimerName & { readonly identity: number } {
  if (typeof handle === 'string' && handle.startsWith(PREFIX)) {
    const parts = Buffer.from(handle.slice(PREFIX.length), 'base64url').toString().split('\0')
    const identity = Number.parseInt(parts[3] ?? '', 36)
    if (parts.length === 4 && Number.isSafeInteger(identity) && identity > 0) {
      const timer = { namespace: parts[0]!, kind: parts[1]!, key: parts[2]!, identity }
      if (handleOf(timer) === handle) return timer
    }
  }
  throw new InvalidInputError(
    'invalid-handle',
    `a handle is the text that \`set\` returned, got ${shown(handle)}`,
  )
}
