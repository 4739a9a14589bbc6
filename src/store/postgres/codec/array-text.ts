import { Buffer } from 'node:buffer'
import { storable } from './binary-array.js'

/** An array in PostgreSQL's text format, which every driver can send as a string. */
export function arrayText<Item>(items: readonly Item[], of: (item: Item) => string | null): string {
  const elements = items.map((item) => {
    const text = of(item)
    return text === null ? 'NULL' : `"${storable(text).replaceAll(/["\\]/g, '\\$&')}"`
  })
  return `{${elements.join(',')}}`
}

/** Bytes in the text format of a bytea. */
export function byteaText(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')}`
}
