import { RequestError } from '../error/index.js'

/** The most levels that a body may have: more only serves to exhaust whoever walks it. */
const MOST_LEVELS = 64

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

/**
 * Reads JSON that a stranger sent. Refuses what is nested too deep before it is parsed, and the names with which
 * objects are poisoned when they are merged.
 */
export function parseJson(text: string): unknown {
  checkLevels(text)
  const isSuspect = text.includes('__proto__') || text.includes('constructor') || text.includes('\\u')
  try {
    return isSuspect ? JSON.parse(text, refusePoison) : JSON.parse(text)
  } catch (error) {
    if (error instanceof RequestError) throw error
    throw new RequestError('invalid-body', `the body is not JSON: ${(error as Error).message}`)
  }
}

function checkLevels(text: string): void {
  let levels = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = endOfText(text, at)
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++levels > MOST_LEVELS)
        throw new RequestError('invalid-body', `the body is nested deeper than ${MOST_LEVELS} levels`)
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      levels--
    }
  }
}

/** Where the quote stands that closes the text which begins at `from`. */
function endOfText(text: string, from: number): number {
  let end = text.indexOf('"', from + 1)
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end === -1 ? text.length : end
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0
  while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++
  return slashes % 2 === 1
}

function refusePoison(this: unknown, name: string, value: unknown): unknown {
  const isPoison =
    name === '__proto__' ||
    (name === 'constructor' &&
      typeof value === 'object' &&
      value !== null &&
      Object.hasOwn(value, 'prototype'))
  if (isPoison) throw new RequestError('invalid-body', `the body has the name ${JSON.stringify(name)}`)
  return value
}
