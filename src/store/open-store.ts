import { checkOptions, InvalidInputError, shown, shownUrl } from '../error/index.js'
import type { Clock } from '../time/index.js'
import type { Store, StoreMode } from './store.js'

/** The options of `openStore`. */
export interface OpenStoreOptions {
  readonly clock?: Clock
  /** The mode of a store that this call makes. */
  readonly strategy?: StoreMode
  /** The number of shards of a store that this call makes. */
  readonly shardCount?: number
  readonly maxPayloadBytes?: number
  /** Called with the progress while a large file store indexes its rows. */
  readonly onProgress?: (progress: { readonly indexedRows: number; readonly rows: number }) => void
}

const optionNames = ['clock', 'strategy', 'shardCount', 'maxPayloadBytes', 'onProgress']

const EXAMPLES =
  "'memory:', 'file:./timers', 'file:/var/lib/timers', 'postgres://user:password@host/database' or 'redis://localhost:6379'"

/** A URL that is known to name a store, not a server. `openTimers` then knows what it returns. */
export type StoreUrl =
  | 'memory:'
  | `file:${string}`
  | `postgres://${string}`
  | `postgresql://${string}`
  | `redis://${string}`
  | `rediss://${string}`

/** The kind of a store and where it is, from its URL. */
export type StoreLocation =
  | { readonly kind: 'memory' }
  | { readonly kind: 'file'; readonly folder: string }
  | { readonly kind: 'postgres' }
  | { readonly kind: 'redis' }

/** Parses the URL of a store. Refuses one that names no store. */
export function parseStoreUrl(url: string): StoreLocation {
  const [scheme, rest] = partsOf(url)
  switch (scheme) {
    case 'memory':
      if (rest !== '') throw refused(url, 'a memory store has no name')
      return { kind: 'memory' }
    case 'file':
      return { kind: 'file', folder: folderOf(url, rest) }
    case 'postgres':
    case 'postgresql':
      checkAddress(url, rest)
      return { kind: 'postgres' }
    case 'redis':
    case 'rediss':
      return { kind: 'redis' }
    default:
      throw refused(url, `there is no kind of store called ${shown(scheme)}`)
  }
}

/** Opens the store that a URL names. It imports only the code of that store. */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<Store> {
  checkOptions('openStore', options, optionNames)
  const location = parseStoreUrl(url)
  const { onProgress: _, ...shared } = options
  switch (location.kind) {
    case 'memory': {
      const { MemoryStore } = await import('./memory/memory-store.js')
      return new MemoryStore(shared)
    }
    case 'file': {
      const { FileStore } = await import('./file/file-store.js')
      return await FileStore.open(location.folder, options)
    }
    case 'postgres': {
      const { PostgresStore } = await import('./postgres/postgres-store.js')
      return await PostgresStore.open(url, shared)
    }
    case 'redis': {
      const { RedisStore } = await import('./redis/redis-store.js')
      return await RedisStore.open(url, shared)
    }
  }
}

function partsOf(url: unknown): [scheme: string, rest: string] {
  if (typeof url !== 'string') throw refused(url, 'it must be a string')
  const parts = /^([a-z][a-z0-9+.-]*):(.*)$/is.exec(url)
  if (parts === null) throw refused(url, 'it must begin with the kind of store and a colon')
  return [parts[1]!.toLowerCase(), parts[2]!]
}

/** Checks that `//` follows the colon. The driver parses the rest. */
function checkAddress(url: string, rest: string): void {
  if (rest.startsWith('//') && !rest.includes('\0') && URL.canParse(url)) return
  throw refused('postgres:…', 'after postgres: comes //user:password@host:port/database')
}

/** After `file:` comes a plain path; after `file://` comes an absolute path with percent-encoding. */
function folderOf(url: string, rest: string): string {
  if (rest.startsWith('//')) {
    const path = /^\/\/(?:localhost)?(\/.+)$/.exec(rest)?.[1]
    if (path === undefined)
      throw refused(url, 'a folder must be on this machine: after // comes an absolute path')
    return decoded(url, path)
  }
  if (rest.trim() === '' || rest.includes('\0')) throw refused(url, 'it names no folder')
  return rest
}

function decoded(url: string, path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw refused(url, 'its path cannot be decoded')
  }
}

function refused(url: unknown, why: string): InvalidInputError {
  return new InvalidInputError(
    'invalid-store-url',
    `cannot open the store ${shownUrl(url)}: ${why}. Examples: ${EXAMPLES}`,
  )
}
