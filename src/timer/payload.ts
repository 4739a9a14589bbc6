import { InvalidInputError, shown } from '../error/index.js'
import { JsonWriter } from './json-writer.js'

const nothing = new Uint8Array(0)

// So many payloads are worth memory that they share. It is let go with the last of them, so it is not much.
const WORTH_SHARING = 16
const SHARED_BYTES = 16_384
// With less than this left, the next payload gets new memory.
const SCANT_BYTES = 1024
// After so many that could not be written there, the others of a call are not tried.
const MOST_MISSES = 8

/** Encodes the payloads of one call as `encodePayload` does; those of a large one in half the time. */
export class PayloadEncoder {
  #misses: number
  #writer: JsonWriter | undefined

  /** `count` is how many there will be. */
  constructor(count: number) {
    this.#misses = count < WORTH_SHARING ? MOST_MISSES : 0
  }

  encode(payload: unknown): Uint8Array {
    if (payload === undefined || this.#misses === MOST_MISSES) return encodePayload(payload)
    if (this.#writer === undefined || this.#writer.left < SCANT_BYTES)
      this.#writer = new JsonWriter(SHARED_BYTES)
    const bytes = this.#writer.write(payload)
    if (bytes !== undefined) return bytes
    this.#misses++
    return encodePayload(payload)
  }
}

/** A payload as a store keeps it: JSON in UTF-8, nothing at all for undefined. */
export function encodePayload(payload: unknown): Uint8Array {
  if (payload === undefined) return nothing
  let text: string | undefined
  try {
    text = JSON.stringify(payload)
  } catch (error) {
    throw new InvalidInputError(
      'invalid-payload',
      `the payload cannot be written as JSON: ${String(error)}`,
      {
        cause: error,
      },
    )
  }
  // What JSON leaves out would come back as something else.
  if (text === undefined) {
    throw new InvalidInputError('invalid-payload', `the payload cannot be written as JSON: ${shown(payload)}`)
  }
  // From the pool: memory of its own for each costs several times as much as writing the text into it.
  return Buffer.from(text)
}

/** A payload for whoever keeps it for long: a copy, where it is a view that would keep many others with it. */
export function ownBytes(payload: Uint8Array): Uint8Array {
  return payload.buffer.byteLength > 2 * payload.length + SHARED_BYTES ? Buffer.from(payload) : payload
}

export function decodePayload(bytes: Uint8Array): unknown {
  const text = payloadTextOf(bytes)
  return text === undefined ? undefined : JSON.parse(text)
}

/** A stored payload as the JSON it is; undefined for nothing at all. */
export function payloadTextOf(bytes: Uint8Array): string | undefined {
  if (bytes.length === 0) return undefined
  // A decoder of the platform costs several times as much for a short text.
  const whole = bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  return whole.toString()
}
