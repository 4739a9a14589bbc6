import { shown, StoreError } from '../../error/index.js'
import type { Environment } from './environment.js'

/** What a folder is, written when it is made and never changed but by an upgrade. */
export interface Format {
  readonly format: 'carillon'
  readonly version: number
  readonly shardCount: number
}

export const FORMAT_VERSION = 1
const NAME = 'format'

/** Reads what the folder is, or makes it a new store. Runs in the transaction that takes the folder. */
export function takeFormat(environment: Environment, shardCount: number): Format {
  const text = environment.getMeta(NAME)
  if (text === undefined) {
    if (!environment.isEmpty()) {
      throw new StoreError(
        'store-damaged',
        `${environment.folder} has timers but does not say in which format`,
      )
    }
    const format: Format = { format: 'carillon', version: FORMAT_VERSION, shardCount }
    environment.putMeta(NAME, JSON.stringify(format))
    return format
  }
  const format = parsed(text)
  if (format === undefined) {
    throw new StoreError('store-damaged', `${environment.folder} has the format ${shown(text)}`)
  }
  if (format.version > FORMAT_VERSION) {
    throw new StoreError(
      'store-newer',
      `${environment.folder} has format version ${format.version}; this version of Carillon knows ${FORMAT_VERSION}`,
    )
  }
  return format
}

function parsed(text: string): Format | undefined {
  try {
    const { format, version, shardCount } = JSON.parse(text) as Partial<Format>
    if (format === 'carillon' && Number.isInteger(version) && Number.isInteger(shardCount))
      return { format, version: version!, shardCount: shardCount! }
  } catch {
    // Refused by the caller.
  }
  return undefined
}
