import type { Place } from '../../timer/index.js'
import type { Standing } from '../store.js'

export const PLACE_DIGITS = 26
const POSITION_DIGITS = 14
const FARTHEST = 2 ** 53 - 1

/** A place as the scripts compare it: 14 hexadecimal digits of the position, 12 of the revision. */
export function placeText({ position, revision }: Place): string {
  const farthest = Math.min(position, FARTHEST)
  return farthest.toString(16).padStart(POSITION_DIGITS, '0') + revision.toString(16).padStart(12, '0')
}

export function parsePlace(text: string): Place {
  return {
    position: Number.parseInt(text.slice(0, POSITION_DIGITS), 16),
    revision: Number.parseInt(text.slice(POSITION_DIGITS), 16),
  }
}

const hexDigits = Buffer.from('0123456789abcdef')

/** Writes a place as `placeText` has it. */
export function writePlace(bytes: Buffer, at: number, position: number, revision: number): void {
  const farthest = Math.min(position, FARTHEST)
  const high = Math.floor(farthest / 0x1000_0000)
  writeHex(bytes, at, 7, high)
  writeHex(bytes, at + 7, 7, farthest - high * 0x1000_0000)
  const above = Math.floor(revision / 0x100_0000)
  writeHex(bytes, at + 14, 6, above)
  writeHex(bytes, at + 20, 6, revision - above * 0x100_0000)
}

function writeHex(bytes: Buffer, at: number, count: number, value: number): void {
  for (let index = at + count - 1; index >= at; index--) {
    bytes[index] = hexDigits[value & 15]!
    value >>>= 4
  }
}

export function positionAt(bytes: Uint8Array, at: number): number {
  return hexAt(bytes, at, 7) * 0x1000_0000 + hexAt(bytes, at + 7, 7)
}

export function revisionAt(bytes: Uint8Array, at: number): number {
  return hexAt(bytes, at + 14, 6) * 0x100_0000 + hexAt(bytes, at + 20, 6)
}

/** What the index of names says of a row: its place and, in eight bytes more, its identity. */
export function standingAt(bytes: Buffer, at: number): Standing {
  return {
    identity: bytes.readDoubleLE(at + PLACE_DIGITS),
    position: positionAt(bytes, at),
    revision: revisionAt(bytes, at),
  }
}

/** At most seven lower-case hexadecimal digits. */
function hexAt(bytes: Uint8Array, at: number, digits: number): number {
  let value = 0
  for (let end = at + digits; at < end; at++) {
    const code = bytes[at]!
    value = (value << 4) | (code <= 0x39 ? code - 0x30 : code - 0x57)
  }
  return value
}
