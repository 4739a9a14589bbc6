import { shown, StoreError } from '../../error/index.js'
import type { Environment } from './lmdb/environment.js'

/** The format of a folder. It is written when the store is created, and only an upgrade changes it. */
export interface Format {
  readonly format: 'carillon'
  readonly version: number
  readonly shardCount: number
}

export const FORMAT_VERSION = 1
const NAME = 'format'

/** Reads the format, or makes an empty folder a new store. Runs in the transaction that takes the folder. */
export function readOrCreateFormat(environment: Environment, shardCount: number): Format {
  const text = environment.getMeta(NAME)
  if (text === undefined) {
    if (!environment.isEmpty()) {
      throw new StoreError('store-damaged', `${environment.folder} has timers, but no record of its format`)
    }
    const format: Format = { format: 'carillon', version: FORMAT_VERSION, shardCount }
    environment.putMeta(NAME, JSON.stringify(format))
    return format
  }
  const format = parseFormat(text)
  if (format === undefined) {
    throw new StoreError('store-damaged', `${environment.folder} has the unknown format ${shown(text)}`)
  }
  if (format.version > FORMAT_VERSION) {
    throw new StoreError(
      'store-newer',
      `${environment.folder} has format version ${format.version}; this version of Carillon reads up to ${FORMAT_VERSION}`,
    )
  }
  return format
}

function parseFormat(text: string): Format | undefined {
  try {
    const { format, version, shardCount } = JSON.parse(text) as Partial<Format>
    if (format === 'carillon' && Number.isInteger(version) && Number.isInteger(shardCount))
      return { format, version: version!, shardCount: shardCount! }
  } catch {
    // The caller rejects it.
  }
  return undefined
}
