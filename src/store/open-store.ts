import { checkOptions, InvalidInputError, shown } from '../error/index.js'
import type { Clock } from '../time/index.js'
import type { Store, Strategy } from './store.js'

export interface OpenStoreOptions {
  readonly clock?: Clock
  /** How timers find their way to memory, for a store that is made by this call. */
  readonly strategy?: Strategy
  /** How many shards a store that is made by this call gets. */
  readonly shardCount?: number
  readonly maxPayloadBytes?: number
  /** Hears how far opening has got, where that takes its time. */
  readonly onProgress?: (progress: { readonly indexedRows: number; readonly rows: number }) => void
}

const optionNames = ['clock', 'strategy', 'shardCount', 'maxPayloadBytes', 'onProgress']

const EXAMPLES =
  "'memory:', 'file:./timers', 'file:/var/lib/timers', 'postgres://user:password@host/database' or 'redis://localhost:6379'"

/** Where a store is, as its URL says. */
export type StoreLocation =
  | { readonly kind: 'memory' }
  | { readonly kind: 'file'; readonly folder: string }
  | { readonly kind: 'postgres' }
  | { readonly kind: 'redis' }

/** Reads a URL, and refuses one that names no store. */
export function placeOf(url: string): StoreLocation {
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
      throw refused(url, `there is no store of the kind ${shown(scheme)}`)
  }
}

/** Opens the store that a URL names. What a store needs is loaded only when it is asked for. */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<Store> {
  checkOptions('openStore', options, optionNames)
  const place = placeOf(url)
  const { onProgress: _, ...shared } = options
  switch (place.kind) {
    case 'memory': {
      const { MemoryStore } = await import('./memory/memory-store.js')
      return new MemoryStore(shared)
    }
    case 'file': {
      const { FileStore } = await import('./file/file-store.js')
      return await FileStore.open(place.folder, options)
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
  if (typeof url !== 'string') throw refused(url, 'it must be a text')
  const parts = /^([a-z][a-z0-9+.-]*):(.*)$/is.exec(url)
  if (parts === null) throw refused(url, 'it has no kind before a colon')
  return [parts[1]!.toLowerCase(), parts[2]!]
}

/** A database is somewhere: after the colon comes `//`, and what follows is the driver's to read. */
function checkAddress(url: string, rest: string): void {
  if (rest.startsWith('//') && !rest.includes('\0') && URL.canParse(url)) return
  throw refused('postgres:…', 'after postgres: comes //user:password@host:port/database')
}

/** `file:` takes a path as it is, and `file:///` as other programs write it. */
function folderOf(url: string, rest: string): string {
  if (rest.startsWith('//')) {
    const path = /^\/\/(?:localhost)?(\/.+)$/.exec(rest)?.[1]
    if (path === undefined)
      throw refused(url, 'a file is on this machine: after // comes the path, from its root')
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
    `cannot open the store ${shown(url)}: ${why}. Examples: ${EXAMPLES}`,
  )
}
