import type { Place } from '../../../timer/index.js'
import type { RowVersion } from '../../store.js'

export const PLACE_DIGITS = 26
export const POSITION_DIGITS = 14
const MAX_POSITION = 2 ** 53 - 1

/** A position as it is stored: at most the largest safe integer. */
export function storedPosition(position: number): number {
  return Math.min(position, MAX_POSITION)
}

/** A place as the scripts compare it: 14 hexadecimal digits for the position, 12 for the revision. */
export function placeText({ position, revision }: Place): string {
  const stored = storedPosition(position)
  return stored.toString(16).padStart(POSITION_DIGITS, '0') + revision.toString(16).padStart(12, '0')
}

export function parsePlace(text: string): Place {
  return {
    position: Number.parseInt(text.slice(0, POSITION_DIGITS), 16),
    revision: Number.parseInt(text.slice(POSITION_DIGITS), 16),
  }
}

// The two hexadecimal digits of each byte value, the first one in the low half.
const hexPairs = Uint16Array.from({ length: 256 }, (_, byte) => {
  const digits = byte.toString(16).padStart(2, '0')
  return digits.charCodeAt(0) | (digits.charCodeAt(1) << 8)
})

/** Writes a place in the same form as `placeText`. */
export function writePlace(bytes: Buffer, at: number, position: number, revision: number): void {
  const stored = storedPosition(position)
  const high = Math.floor(stored / 0x100_0000)
  writeHex(bytes, at, 4, high)
  writeHex(bytes, at + 8, 3, stored - high * 0x100_0000)
  const above = Math.floor(revision / 0x100_0000)
  writeHex(bytes, at + 14, 3, above)
  writeHex(bytes, at + 20, 3, revision - above * 0x100_0000)
}

/** Writes the lowest `count` bytes of a number below 2^32, two digits each. */
function writeHex(bytes: Buffer, at: number, count: number, value: number): void {
  for (let index = at + 2 * count - 2; index >= at; index -= 2) {
    const pair = hexPairs[value & 255]!
    bytes[index] = pair
    bytes[index + 1] = pair >>> 8
    value >>>= 8
  }
}

export function positionAt(bytes: Uint8Array, at: number): number {
  return hexAt(bytes, at, 7) * 0x1000_0000 + hexAt(bytes, at + 7, 7)
}

export function revisionAt(bytes: Uint8Array, at: number): number {
  return hexAt(bytes, at + 14, 6) * 0x100_0000 + hexAt(bytes, at + 20, 6)
}

/** An entry of the name index: the row's place and, in eight more bytes, its identity. */
export function rowVersionAt(bytes: Buffer, at: number): RowVersion {
  return {
    identity: bytes.readDoubleLE(at + PLACE_DIGITS),
    position: positionAt(bytes, at),
    revision: revisionAt(bytes, at),
  }
}

/** Parses at most seven lower-case hexadecimal digits. */
function hexAt(bytes: Uint8Array, at: number, digits: number): number {
  let value = 0
  for (let end = at + digits; at < end; at++) {
    const code = bytes[at]!
    value = (value << 4) | (code <= 0x39 ? code - 0x30 : code - 0x57)
  }
  return value
}
