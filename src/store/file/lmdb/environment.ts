import { chmodSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { StoreError } from '../../../error/index.js'
import { needsSpace } from '../../needs-space.js'
import { SetColumnsWrite } from '../../set-columns.js'
import { Chunk } from '../rows/chunk.js'
import type { Batch, Change } from './batch.js'
import { CompactCopy } from './compact-copy.js'
import { causeOf, copyError, isFullError, isLmdbError, messageOf, openingError } from './disk-error.js'
import { syncEntries, syncFile, syncFolder } from './durable-files.js'
import type { FileSystem } from './file-system.js'
import type { Root } from './lmdb.js'
import { Reserve } from './reserve.js'
import { checkFolder, createDataFile, DATA_FILE, keepPrivate, LOCK_FILE } from './store-folder.js'
import { openRoot, openTables, type Tables } from './tables.js'

const OWNER = Buffer.from('owner')
/** The owner mark of a copy that no process has opened yet. */
export const COPY_MARK = '{"isCopy":true}'

/** Operations that may add timers. */
interface Growth {
  readonly operations: readonly { readonly type: string }[]
}

// The real paths of open folders: one process must not open LMDB twice, under any path.
const openHere = new Set<string>()

// Sessions that are closed although the disk refused to remove their owner mark.
const closedSessions = new Set<number>()

/**
 * The LMDB environment of a folder. It uses no setting that trades durability for speed, so a commit that is answered
 * is on the disk. Every commit checks, inside its transaction, that this process still owns the folder.
 *
 * A full disk rejects one commit, and the environment goes on. Any other write error ends the environment: `failure`
 * is set, nothing more is written, and the only thing left to do is to close it. Going on would be wrong, for two
 * reasons: the system may have dropped the pages that it could not write, and LMDB itself rejects everything after an
 * error on its meta page.
 *
 * Proven by test/store/power/write-errors.test.ts, test/store/power/power.test.ts, test/store/file/folder.test.ts and
 * test/store/file/full-disk.test.ts.
 */
export class Environment {
  readonly folder: string
  readonly #realFolder: string
  readonly #reserve: Reserve
  #root: Root
  #tables: Tables
  #session = 0
  #failure: StoreError | undefined
  // The copy of a compaction that is running.
  #copy: CompactCopy | undefined

  private constructor(folder: string, realFolder: string, fileSystem: FileSystem) {
    this.folder = folder
    this.#realFolder = realFolder
    this.#reserve = new Reserve(folder, fileSystem)
    this.#root = openRoot(folder)
    try {
      this.#tables = openTables(this.#root, folder)
    } catch (error) {
      void this.#root.close()
      throw error
    }
  }

  get tables(): Tables {
    return this.#tables
  }

  static open(folder: string, fileSystem: FileSystem): Environment {
    const firstMade = checkFolder(folder, fileSystem)
    const real = realpathSync(folder)
    if (openHere.has(real)) throw new StoreError('store-in-use', `${folder} is already open in this process`)
    try {
      createDataFile(real)
      // At every open: the process that created the file may have been killed before its flush.
      syncEntries(folder, firstMade)
      const environment = new Environment(folder, real, fileSystem)
      openHere.add(real)
      keepPrivate(real)
      return environment
    } catch (error) {
      throw openingError(folder, error)
    }
  }

  /** Differs between this file and a copy of it. */
  fileId(): string {
    const { dev, ino } = statSync(this.dataFile)
    return `${dev}:${ino}`
  }

  get dataFile(): string {
    return path.join(this.folder, DATA_FILE)
  }

  /** The error that ended this environment. Every call must reject with it. */
  get failure(): StoreError | undefined {
    return this.#failure
  }

  /** Runs `run` in one write transaction: no other process writes meanwhile. */
  transaction<Answer>(run: () => Answer): Answer {
    try {
      return this.#root.transactionSync(run)
    } catch (error) {
      if (!isLmdbError(error)) throw error
      throw this.#writeError(error, 0)
    }
  }

  /** Whether the file has no timer. */
  isEmpty(): boolean {
    return [...this.tables.chunks.getKeys({ limit: 1 })].length === 0
  }

  getMeta(name: string): string | undefined {
    return this.tables.meta.get(Buffer.from(name))?.toString()
  }

  putMeta(name: string, value: string): void {
    this.tables.meta.putSync(Buffer.from(name), Buffer.from(value), 0)
  }

  /** Writes the owner mark. From now on every commit checks that the mark still has this session. */
  putOwner(value: string, session: number): void {
    this.#session = session
    this.tables.meta.putSync(OWNER, Buffer.from(value), session)
  }

  /** Whether a store of this process left the owner mark and is closed by now. */
  isOwnerClosed(): boolean {
    const session = this.tables.meta.getEntry(OWNER)?.version
    return session !== undefined && closedSessions.has(session)
  }

  /**
   * Removes the owner mark, unless it is another process's by now. If the disk refuses, the mark stays. Nothing is
   * lost then: the mark no longer counts once this process has ended.
   */
  releaseOwner(): void {
    try {
      if (this.#failure !== undefined) throw this.#failure
      this.transaction(() => {
        if (this.tables.meta.getEntry(OWNER)?.version === this.#session) this.tables.meta.removeSync(OWNER)
      })
    } catch {
      closedSessions.add(this.#session)
    }
  }

  /** Reads a chunk. It is valid until the next read, which may reuse the same bytes. */
  peekChunk(key: Buffer, reusable: Chunk | undefined): Chunk {
    const { chunks } = this.tables
    const bytes = chunks.getBinaryFast(key)
    if (bytes === undefined) {
      throw new StoreError('store-damaged', `${this.folder} lacks the chunk ${key.toString('hex')}`)
    }
    const { length } = bytes
    if (reusable?.bytes.buffer === bytes.buffer && reusable.bytes.byteOffset === bytes.byteOffset) {
      reusable.read(length)
      return reusable
    }
    return new Chunk(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), length)
  }

  /** Refuses what adds timers while the disk is nearly full. The rest is for leases, cancels and settlements. */
  checkRoomFor(write: Growth): void {
    if (
      this.#reserve.hasRoomToGrow ||
      !(write instanceof SetColumnsWrite || write.operations.some(needsSpace))
    )
      return
    throw new StoreError(
      'store-full',
      `the disk is nearly full: ${this.folder} takes no new timers until there is space. What is stored fires, and can be cancelled`,
    )
  }

  /** Makes a batch durable. If it rejects, nothing was written; with 'unknown-outcome' the batch may have been. */
  async commit(batch: Batch): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    this.#checkFreeBytes(batch.bytes)
    const { tables } = this
    // Keys may be reused after the commit, so the copy of a compaction takes them now.
    const repeated = this.#copy === undefined ? [] : batch.changes.map(withOwnKey)
    let isOwner: boolean
    try {
      isOwner = await this.#root.watchWrite(() =>
        tables.meta.ifVersion(OWNER, this.#session, () => {
          for (const { table, key, value } of batch.changes) {
            if (value === undefined) void tables[table].remove(key)
            else if (table === 'meta') void tables.meta.put(key, value, 0)
            else void tables[table].put(key, value)
          }
        }),
      )
      await this.#root.flushed
    } catch (error) {
      throw await this.#commitError(error, batch.bytes)
    }
    if (!isOwner) {
      throw new StoreError(
        'store-in-use',
        `another process has taken over ${this.folder}: nothing was written, and this store can write no more`,
      )
    }
    this.#copy?.add(repeated, batch.bytes)
  }

  async close(): Promise<void> {
    await this.#root.close()
    openHere.delete(this.#realFolder)
  }

  /** Copies the file without free pages, while commits go on. Pass the copy to `finishCompaction`. */
  async startCompaction(): Promise<CompactCopy> {
    if (this.#failure !== undefined) throw this.#failure
    try {
      const copy = new CompactCopy(this.folder, (bytes) => this.#checkFreeBytes(bytes))
      this.#copy = copy
      await copy.fill(this.#root)
      return copy
    } catch (error) {
      this.#dropCopy()
      throw copyError(`cannot compact ${this.folder}`, error)
    }
  }

  /**
   * Replaces the file by the copy. Nothing may use it meanwhile. The copy has the old file's owner mark, so the caller
   * must write it again.
   */
  async finishCompaction(copy: CompactCopy): Promise<void> {
    try {
      if (this.#failure !== undefined) throw this.#failure
      await copy.catchUp()
      chmodSync(copy.file, statSync(this.dataFile).mode & 0o777)
      copy.sync()
      await this.#root.close()
      renameSync(copy.file, this.dataFile)
    } catch (error) {
      // The old file is still in place: go on with it.
      if (!this.#root.isOpen) this.#reopen()
      throw copyError(`cannot compact ${this.folder}`, error)
    } finally {
      this.#dropCopy()
    }
    try {
      // Flush before anything is written to the new file: a power loss must not bring the old one back.
      syncFolder(this.folder)
    } catch (error) {
      throw this.#fail(error)
    }
    this.#reopen()
  }

  /** Copies the file as of now, without free pages, to an empty or new folder. The copy survives a power loss. */
  async backup(folder: string): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    // A backup holds payloads and secrets: only its owner may read it.
    const firstMade = mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (readdirSync(folder).length > 0)
      throw new StoreError('store-foreign', `${folder} is not empty: use an empty or a new folder`)
    try {
      await this.#root.backup(folder, true)
      chmodSync(path.join(folder, DATA_FILE), 0o600)
      await markAsCopy(folder)
      syncFile(path.join(folder, DATA_FILE))
      syncEntries(folder, firstMade)
    } catch (error) {
      throw copyError(`cannot copy ${this.folder} to ${folder}`, error)
    }
  }

  /** Keeps all pages that are in use now, until the returned function is called. */
  keepPages(): () => void {
    if (this.#failure !== undefined) throw this.#failure
    return this.#root.keepPages()
  }

  #dropCopy(): void {
    this.#copy?.remove()
    this.#copy = undefined
  }

  #reopen(): void {
    try {
      this.#root = openRoot(this.folder)
      keepPrivate(this.folder)
      this.#tables = openTables(this.#root, this.folder)
    } catch (error) {
      throw this.#fail(error)
    }
  }

  async #commitError(error: unknown, bytes: number): Promise<StoreError> {
    return this.#writeError(await causeOf(error), bytes)
  }

  #writeError(cause: unknown, bytes: number): StoreError {
    const canStillWrite = this.#canStillWrite()
    if (canStillWrite && (isFullError(cause) || !this.#reserve.hasRoomFor(bytes))) {
      return this.#fullError(bytes, { cause })
    }
    const failure = this.#fail(cause)
    if (canStillWrite || this.#root.isStuck) return failure
    // Writing the meta page is the commit. Nobody knows whether the disk has the old page or the new one.
    return new StoreError('unknown-outcome', `${failure.message} The last write may be there too.`, {
      cause,
    })
  }

  /** Whether LMDB would begin another write. It never does after an error on a meta page. */
  #canStillWrite(): boolean {
    if (this.#root.isStuck) return false
    try {
      this.#root.transactionSync(() => undefined)
      return true
    } catch {
      return false
    }
  }

  #fail(cause: unknown): StoreError {
    this.#failure ??= new StoreError(
      'store-failed',
      `the disk refused a write to ${this.folder} (${messageOf(cause)}), so this store can write no more. Check the disk and start again. Everything acknowledged is there.`,
      { cause },
    )
    return this.#failure
  }

  // Checked before each commit: LMDB's binding overruns its own buffer when it reports some failed writes.
  #checkFreeBytes(bytes: number): void {
    if (!this.#reserve.hasRoomFor(bytes)) throw this.#fullError(bytes)
  }

  #fullError(bytes: number, options?: ErrorOptions): StoreError {
    const message = `the disk is full: cannot write ${bytes} bytes to ${this.folder}`
    return new StoreError('store-full', message, options)
  }
}

/** Nobody owns a copy: without this mark, its shards would stay with the owner of the original until their leases end. */
async function markAsCopy(folder: string): Promise<void> {
  const root = openRoot(folder)
  try {
    const { meta } = openTables(root, folder)
    root.transactionSync(() => meta.putSync(OWNER, Buffer.from(COPY_MARK), 0))
  } finally {
    await root.close()
  }
  rmSync(path.join(folder, LOCK_FILE), { force: true })
}

function withOwnKey({ table, key, value }: Change): Change {
  return { table, key: Buffer.from(key), value }
}
