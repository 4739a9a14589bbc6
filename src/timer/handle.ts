import { InvalidInputError, shown } from '../error/index.js'
import { identityText } from './identity.js'
import type { TimerName } from './timer-row.js'

/** Finds one life of a key: an opaque text that never hits a later timer of the same name. */
export type TimerHandle = string

const PREFIX = 't1.'

// Handles are made a million times a second, mostly of one kind: the last scope that was written is kept.
let lastNamespace = ''
let lastKind = ''
let lastScope = ''
let lastSafeScope = ''

// Keys that need no encoding to go into a URL. The tilde before them is not of the base64 alphabet.
const SAFE_KEY = /^[\w:@-]+$/

export function handleOf({
  namespace,
  kind,
  key,
  identity,
}: TimerName & { readonly identity: number }): TimerHandle {
  if (namespace !== lastNamespace || kind !== lastKind) {
    // Names cannot contain U+0000, so the parts cannot run into each other.
    lastScope = `${PREFIX}${Buffer.from(`${namespace}\0${kind}`).toString('base64url')}.`
    lastSafeScope = `${lastScope}~`
    lastNamespace = namespace
    lastKind = kind
  }
  // Few pieces: each one put on is an object of its own until somebody reads the text.
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
    `a handle is the text that \`set\` returned, got ${shown(handle)}`,
  )
}
