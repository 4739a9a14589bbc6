import { InvalidInputError, shown } from '../../error/index.js'
import { identityText } from './identity.js'
import type { TimerName } from '../timer-row.js'

/** Finds one life of a key: an opaque string that never finds a later timer of the same name. */
export type TimerHandle = string

const PREFIX = 't1.'

// Handles are made a million times a second, mostly of one kind, so the last encoded scope is kept.
let lastNamespace = ''
let lastKind = ''
let lastScope = ''
let lastSafeScope = ''

// Keys that a URL can contain as they are. The tilde before them is not in the base64url alphabet.
const SAFE_KEY = /^[\w:@-]+$/

export function handleOf({
  namespace,
  kind,
  key,
  identity,
}: TimerName & { readonly identity: number }): TimerHandle {
  if (namespace !== lastNamespace || kind !== lastKind) {
    // Names cannot contain U+0000, so it separates the parts.
    lastScope = `${PREFIX}${Buffer.from(`${namespace}\0${kind}`).toString('base64url')}.`
    lastSafeScope = `${lastScope}~`
    lastNamespace = namespace
    lastKind = kind
  }
  // Few pieces: V8 keeps each concatenation as an object until somebody reads the string.
  if (SAFE_KEY.test(key)) return `${lastSafeScope}${key}.${identityText(identity)}`
  return `${lastScope}${Buffer.from(key).toString('base64url')}.${identityText(identity)}`
}

export function parseHandle(handle: unknown): TimerName & { readonly identity: number } {
  if (typeof handle === 'string' && handle.startsWith(PREFIX)) {
    const [scope = '', keyText = '', identityGiven = ''] = handle.slice(PREFIX.length).split('.')
    const [namespace = '', kind = ''] = Buffer.from(scope, 'base64url').toString().split('\0')
    const key = keyText.startsWith('~') ? keyText.slice(1) : Buffer.from(keyText, 'base64url').toString()
    const identity = Number.parseInt(identityGiven, 36)
    if (Number.isSafeInteger(identity) && identity > 0) {
      const timer = { namespace, kind, key, identity }
      if (handleOf(timer) === handle) return timer
    }
  }
  throw new InvalidInputError(
    'invalid-handle',
    `${shown(handle)} is not a handle: pass the string that \`set\` returned`,
  )
}
