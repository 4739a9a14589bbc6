import { RequestError } from '../../error/index.js'
import { MAX_JSON_DEPTH } from '../defaults.js'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

/**
 * Parses JSON from an untrusted sender. It refuses deep nesting before parsing, because deep values exhaust the stack
 * of code that walks them. It also refuses names that pollute prototypes when objects are merged.
 */
export function parseJson(text: string): unknown {
  checkDepth(text)
  const isSuspect = text.includes('__proto__') || text.includes('constructor') || text.includes('\\u')
  try {
    return isSuspect ? JSON.parse(text, refusePrototypeNames) : JSON.parse(text)
  } catch (error) {
    if (error instanceof RequestError) throw error
    throw new RequestError('invalid-body', `the body is not JSON: ${(error as Error).message}`)
  }
}

function checkDepth(text: string): void {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = endOfString(text, at)
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth > MAX_JSON_DEPTH)
        throw new RequestError('invalid-body', `the body is nested deeper than ${MAX_JSON_DEPTH} levels`)
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth--
    }
  }
}

/** The index of the quote that closes the string opened at `from`. */
function endOfString(text: string, from: number): number {
  let end = text.indexOf('"', from + 1)
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end === -1 ? text.length : end
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0
  while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++
  return slashes % 2 === 1
}

function refusePrototypeNames(this: unknown, name: string, value: unknown): unknown {
  const isRefused =
    name === '__proto__' ||
    (name === 'constructor' &&
      typeof value === 'object' &&
      value !== null &&
      Object.hasOwn(value, 'prototype'))
  if (isRefused) throw new RequestError('invalid-body', `the body contains the name ${JSON.stringify(name)}`)
  return value
}
