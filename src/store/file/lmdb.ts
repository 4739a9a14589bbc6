import { createRequire } from 'node:module'

/**
 * As much of the package `lmdb` as is used here. Its own declarations do not compile as those of an ES module, so
 * what is relied on is written down; the tests of the store are what holds it to the truth.
 */
export interface Table {
  get(key: Buffer): Buffer | undefined
  getEntry(key: Buffer): { readonly value: Buffer; readonly version?: number } | undefined
  /** What it answers is overwritten by the next reading; `length` is that of the value. */
  getBinaryFast(key: Buffer): Buffer | undefined
  getKeys(range?: TableRange): Iterable<Buffer>
  getRange(range?: TableRange): Iterable<{ readonly key: Buffer; readonly value: Buffer }>
  put(key: Buffer, value: Buffer, version?: number): Promise<boolean>
  remove(key: Buffer): Promise<boolean>
  putSync(key: Buffer, value: Buffer, version?: number): void
  removeSync(key: Buffer): boolean
  /** Does what `write` asks for in one transaction, if the key stands at this version. */
  ifVersion(key: Buffer, version: number, write: () => void): Promise<boolean>
}

interface TableRange {
  readonly start?: Buffer
  readonly limit?: number
}

export interface Root extends Table {
  readonly flushed: PromiseLike<unknown>
  openDB(options: TableOptions & { readonly name: string }): Table
  transactionSync<Answer>(run: () => Answer): Answer
  backup(path: string, compact: boolean): Promise<void>
  close(): Promise<void>
}

interface TableOptions {
  readonly keyEncoding: 'binary'
  readonly encoding: 'binary'
  readonly useVersions?: boolean
}

interface RootOptions extends TableOptions {
  readonly path: string
  readonly noSubdir: boolean
  readonly maxDbs: number
  readonly mapSize?: number
  readonly overlappingSync: boolean
  readonly pageSize: number
  readonly eventTurnBatching: boolean
}

/** Opens a folder. The package, with its binary, is loaded by the first call and not before. */
export function open(options: RootOptions): Root {
  const lmdb = createRequire(import.meta.url)('lmdb') as { readonly open: (options: RootOptions) => Root }
  return lmdb.open(options)
}
