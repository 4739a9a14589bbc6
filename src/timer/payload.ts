import { InvalidInputError, shown } from '../error/index.js'

const nothing = new Uint8Array(0)

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
