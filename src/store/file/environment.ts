import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { platform } from 'node:os'
import path from 'node:path'
import { LimitError, shown, StoreError } from '../../error/index.js'
import type { Batch, TableName } from './batch.js'
import { Chunk } from './chunk.js'
import { type FileSystem, isNetwork } from './file-system.js'
import { open, type Root, type Table } from './lmdb.js'

const DATA_FILE = 'data.mdb'
const LOCK_FILE = 'lock.mdb'
const COPY_FOLDER = 'compacting'
const LMDB_MAGIC = 0xbeef_c0de
// Addresses, not memory: the file grows as it is written.
const MAP_BYTES = 2 ** 40
// Twice the usual: the list of free pages, which LMDB walks in every commit, is half as long.
const PAGE_BYTES = 8192

const OWNER = Buffer.from('owner')

// LMDB must not be opened twice by one process, under whatever path.
const openHere = new Set<string>()

/**
 * The LMDB environment of a folder: opened without any shortcut in durability, so a commit that is answered is
 * on the disk. Every commit is conditional, inside its transaction, on this process still being the owner.
 */
export class Environment {
  readonly folder: string
  readonly #fileSystem: FileSystem
  #root: Root
  #tables: Readonly<Record<TableName, Table>>
  #session = 0
  #real = ''
  #isFull = false
  /** Called when the file was replaced by a copy of itself. */
  onReplaced: () => void = () => undefined

  private constructor(folder: string, fileSystem: FileSystem) {
    this.folder = folder
    this.#fileSystem = fileSystem
    this.#root = openRoot(folder)
    this.#tables = tablesOf(this.#root, folder)
  }

  get tables(): Readonly<Record<TableName, Table>> {
    return this.#tables
  }

  static open(folder: string, fileSystem: FileSystem): Environment {
    checkFolder(folder, fileSystem)
    const real = realpathSync(folder)
    if (openHere.has(real)) throw new StoreError('store-in-use', `${folder} is already open in this process`)
    try {
      const environment = new Environment(folder, fileSystem)
      openHere.add(real)
      environment.#real = real
      return environment
    } catch (error) {
      throw openingError(folder, error)
    }
  }

  /** Tells this file from a copy of it. */
  fileMark(): string {
    const { dev, ino } = statSync(this.dataFile)
    return `${dev}:${ino}`
  }

  get dataFile(): string {
    return path.join(this.folder, DATA_FILE)
  }

  /** Runs in a write transaction that no other process shares. */
  exclusively<Answer>(run: () => Answer): Answer {
    return this.#root.transactionSync(run)
  }

  /** Whether it has no timer. */
  isEmpty(): boolean {
    return [...this.tables.chunks.getKeys({ limit: 1 })].length === 0
  }

  getMeta(name: string): string | undefined {
    return this.tables.meta.get(Buffer.from(name))?.toString()
  }

  putMeta(name: string, value: string): void {
    this.tables.meta.putSync(Buffer.from(name), Buffer.from(value), 0)
  }

  /** Writes who owns the folder; every commit from now on asks that this is still so. */
  putOwner(value: string, session: number): void {
    this.#session = session
    this.tables.meta.putSync(OWNER, Buffer.from(value), session)
  }

  /** Removes the owner's mark, unless another process has put its own by now. */
  releaseOwner(): void {
    this.exclusively(() => {
      if (this.tables.meta.getEntry(OWNER)?.version === this.#session) this.tables.meta.removeSync(OWNER)
    })
  }

  /** What stands in a chunk, until the next reading. */
  peekChunk(key: Buffer, reusable: Chunk | undefined): Chunk {
    const { chunks } = this.tables
    const bytes = chunks.getBinaryFast(key)
    if (bytes === undefined) {
      throw new StoreError('store-damaged', `the chunk ${key.toString('hex')} of ${this.folder} is missing`)
    }
    const { length } = bytes
    if (reusable?.bytes.buffer === bytes.buffer && reusable.bytes.byteOffset === bytes.byteOffset) {
      reusable.read(length)
      return reusable
    }
    return new Chunk(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), length)
  }

  /** Makes a batch durable. Rejects when nothing of it is there. */
  async commit(batch: Batch): Promise<void> {
    if (this.#isFull) this.#checkRoom(batch.bytes)
    const { tables } = this
    let isOwner: boolean
    try {
      isOwner = await tables.meta.ifVersion(OWNER, this.#session, () => {
        for (const { table, key, value } of batch.changes) {
          if (value === undefined) void tables[table].remove(key)
          else if (table === 'meta') void tables.meta.put(key, value, 0)
          else void tables[table].put(key, value)
        }
      })
      await this.#root.flushed
    } catch (error) {
      throw await this.#commitError(error, batch.bytes)
    }
    this.#isFull = false
    if (!isOwner) {
      throw new StoreError(
        'store-in-use',
        `another process has taken over ${this.folder}: nothing was written, and this store writes no more`,
      )
    }
  }

  async close(): Promise<void> {
    await this.#root.close()
    openHere.delete(this.#real)
  }

  /** Replaces the file by a copy without its free room. Nobody may use it meanwhile. */
  async compact(): Promise<void> {
    const copy = path.join(this.folder, COPY_FOLDER)
    rmSync(copy, { recursive: true, force: true })
    mkdirSync(copy)
    try {
      await this.#root.backup(copy, true)
      sync(path.join(copy, DATA_FILE))
      await this.#root.close()
      renameSync(path.join(copy, DATA_FILE), this.dataFile)
      sync(this.folder)
    } finally {
      rmSync(copy, { recursive: true, force: true })
    }
    this.#root = openRoot(this.folder)
    this.#tables = tablesOf(this.#root, this.folder)
    this.onReplaced()
  }

  /** Copies the file as of now into an empty or new folder, without its free room. */
  async backup(folder: string): Promise<void> {
    mkdirSync(folder, { recursive: true })
    if (readdirSync(folder).length > 0)
      throw new StoreError('store-foreign', `${folder} is not empty: give an empty folder or a new one`)
    await this.#root.backup(folder, true)
  }

  async #commitError(error: unknown, bytes: number): Promise<StoreError> {
    const cause = await causeOf(error)
    if (this.#room() < 2 * bytes + ROOM_TO_SPARE) {
      this.#isFull = true
      return new StoreError('store-full', `there is no room for ${bytes} bytes more in ${this.folder}`, {
        cause,
      })
    }
    return new StoreError('store-unavailable', `${this.folder} could not be written: ${messageOf(cause)}`, {
      cause,
    })
  }

  // Once it was full, look before trying: LMDB reports a failed commit on the console as well.
  #checkRoom(bytes: number): void {
    if (this.#room() >= 2 * bytes + ROOM_TO_SPARE) return
    throw new StoreError('store-full', `there is still no room for ${bytes} bytes more in ${this.folder}`)
  }

  #room(): number {
    return this.#fileSystem(this.folder).freeBytes
  }
}

const ROOM_TO_SPARE = 65_536

function openRoot(folder: string): Root {
  return open({
    path: folder,
    noSubdir: false,
    maxDbs: 12,
    keyEncoding: 'binary',
    encoding: 'binary',
    overlappingSync: false,
    pageSize: PAGE_BYTES,
    eventTurnBatching: false,
    ...(platform() === 'win32' ? {} : { mapSize: MAP_BYTES }),
  })
}

function tablesOf(root: Root, folder: string): Readonly<Record<TableName, Table>> {
  // Opening a table makes it: look first whose file this is.
  const names = Array.from(root.getKeys(), (key) => String(key).replace(/\0$/, ''))
  if (names.length > 0 && !names.includes('meta')) {
    void root.close()
    throw new StoreError('store-foreign', `${folder} holds an LMDB file with ${shown(names[0])} and no store`)
  }
  const table = (name: TableName, useVersions = false): Table =>
    root.openDB({ name, keyEncoding: 'binary', encoding: 'binary', useVersions })
  return {
    chunks: table('chunks'),
    meta: table('meta', true),
    inbox: table('inbox'),
    dead: table('dead'),
    history: table('history'),
    settings: table('settings'),
  }
}

/** LMDB's binding hands out the reason of a failed commit as a promise that rejects. */
async function causeOf(error: unknown): Promise<unknown> {
  const reason: unknown = error instanceof Error && 'commitError' in error ? error.commitError : undefined
  if (!(reason instanceof Promise)) return error
  try {
    await reason
    return error
  } catch (cause) {
    return cause
  }
}

/** Makes a file, or the names in a folder, durable. */
function sync(target: string): void {
  const descriptor = openSync(target, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Refuses a folder that cannot be a store before anything is written into it. */
function checkFolder(folder: string, fileSystem: FileSystem): void {
  try {
    mkdirSync(folder, { recursive: true })
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    for (const file of [DATA_FILE, LOCK_FILE]) {
      const whole = path.join(folder, file)
      if (existsSync(whole)) accessSync(whole, constants.R_OK | constants.W_OK)
    }
  } catch (error) {
    throw openingError(folder, error)
  }
  const { type } = fileSystem(folder)
  if (isNetwork(type)) {
    throw new StoreError(
      'store-network',
      `${folder} is on a network file system (type 0x${type.toString(16)}); give a folder on a local disk`,
    )
  }
  const files = readdirSync(folder)
  const data = path.join(folder, DATA_FILE)
  if (files.includes(DATA_FILE)) checkMagic(data)
  else if (files.some((file) => file !== LOCK_FILE && file !== COPY_FOLDER)) {
    throw new StoreError(
      'store-foreign',
      `${folder} holds ${shown(files[0])} and no store; give an empty folder or a new one`,
    )
  }
}

/** LMDB itself would take some files that are not its own, and damage them. */
function checkMagic(file: string): void {
  const head = Buffer.alloc(28)
  const descriptor = openSync(file, 'r')
  try {
    const read = readSync(descriptor, head, 0, head.length, 0)
    if (read === 0) return
    if (read === head.length && head.readUInt32LE(24) === LMDB_MAGIC) return
  } finally {
    closeSync(descriptor)
  }
  throw new StoreError('store-foreign', `${file} is not a file of this store`)
}

function openingError(folder: string, error: unknown): Error {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  const message = messageOf(error)
  if (error instanceof StoreError || error instanceof LimitError) return error
  if (code === 'EACCES' || code === 'EROFS' || code === 'EPERM' || code === 13 || code === 30 || code === 1) {
    return new StoreError('store-read-only', `${folder} cannot be written: ${message}`, { cause: error })
  }
  if (code === 'ENOTDIR' || code === 'EEXIST') {
    return new StoreError('store-foreign', `${folder} is not a folder`, { cause: error })
  }
  if (code === 'ENOSPC' || code === 28) {
    return new StoreError('store-full', `there is no room for a store in ${folder}`, { cause: error })
  }
  return new StoreError('store-damaged', `${folder} cannot be opened: ${message}`, { cause: error })
}
