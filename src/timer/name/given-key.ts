import { InvalidInputError, shown } from '../../error/index.js'

/** A kind, or its name. Only for the messages of errors. */
type Kind = string | { readonly name: string } | undefined

/**
 * The key of `set(kind, key, options)`; undefined for `set(kind, options)`, where both are the same object. A key that happens to
 * be undefined is refused: it is a mistake of the caller, and a timer with a new key could not be found again.
 */
export function keyOfSet(kind: Kind, keyOrOptions: unknown, options: unknown): string | undefined {
  if (keyOrOptions === options && typeof keyOrOptions === 'object' && keyOrOptions !== null) {
    if ('key' in keyOrOptions)
      throw new InvalidInputError(
        'invalid-option',
        `the key of kind ${nameOf(kind)} is no option: call set(kind, key, options)`,
      )
    return undefined
  }
  if (isMissing(keyOrOptions)) throw missingKey(kind, keyOrOptions)
  return keyOrOptions as string
}

/** The key of a row; undefined if the row has no key and gets a new one. As above, `key: undefined` is refused. */
export function keyOfRow(kind: Kind, row: { readonly key?: string }): string | undefined {
  const { key } = row
  if (isMissing(key) && typeof row === 'object' && 'key' in row) throw missingKey(kind, key)
  return key
}

function isMissing(key: unknown): boolean {
  return key === undefined || key === null
}

function missingKey(kind: Kind, key: unknown): InvalidInputError {
  return new InvalidInputError(
    'invalid-key',
    `a timer of kind ${nameOf(kind)} got the key ${shown(key)}: pass a string, or leave the key out to get a new one`,
  )
}

function nameOf(kind: Kind): string {
  return shown(typeof kind === 'string' ? kind : kind?.name)
}
