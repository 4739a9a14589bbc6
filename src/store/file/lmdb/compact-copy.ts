import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { setImmediate as atTurnEnd } from 'node:timers'
import { StoreError } from '../../../error/index.js'
import { compactDefaults } from '../defaults.js'
import type { Change } from './batch.js'
import { removeFolder, syncFile } from './durable-files.js'
import type { Root } from './lmdb.js'
import { COPY_FOLDER, DATA_FILE } from './store-folder.js'
import { openRoot, openTables } from './tables.js'

const { maxMissedBytes, missedBytesPerTurn } = compactDefaults

/**
 * A copy of a store's file without free pages, beside the file. Commits go on while it is made, and it misses them. The
 * environment therefore reports each commit, and `catchUp` repeats it in the copy. A commit that is in the copy already
 * may be repeated: a change sets or removes a whole value.
 */
export class CompactCopy {
  readonly #folder: string
  readonly #checkFreeBytes: (bytes: number) => void
  #missed: Change[] = []
  #missedBytes = 0

  /** `checkFreeBytes` throws if the disk has no space for this many bytes. */
  constructor(storeFolder: string, checkFreeBytes: (bytes: number) => void) {
    this.#folder = path.join(storeFolder, COPY_FOLDER)
    this.#checkFreeBytes = checkFreeBytes
    rmSync(this.#folder, { recursive: true, force: true })
    mkdirSync(this.#folder, { mode: 0o700 })
  }

  get file(): string {
    return path.join(this.#folder, DATA_FILE)
  }

  /** Takes the changes of a commit. Their keys and values must not change any more. */
  add(changes: readonly Change[], bytes: number): void {
    this.#missedBytes += bytes
    if (this.#missedBytes <= maxMissedBytes) for (const change of changes) this.#missed.push(change)
    else this.#missed = []
  }

  /** Copies the file as of now, and then repeats most of what was committed meanwhile. */
  async fill(root: Root): Promise<void> {
    await root.backup(this.#folder, true)
    // Each round takes less time than the one before, so it misses less.
    for (let round = 0; round < 3 && this.#missedBytes > missedBytesPerTurn; round++) await this.catchUp()
  }

  /** Repeats the commits that the copy misses. */
  async catchUp(): Promise<void> {
    if (this.#missedBytes > maxMissedBytes) {
      throw new StoreError(
        'store-unavailable',
        `more than ${maxMissedBytes} bytes were written while the file was copied: compact it when there is less to write`,
      )
    }
    const missed = this.#missed
    const bytes = this.#missedBytes
    this.#missed = []
    this.#missedBytes = 0
    if (missed.length === 0) return
    this.#checkFreeBytes(bytes)
    const root = openRoot(this.#folder)
    try {
      const tables = openTables(root, this.#folder)
      let next = 0
      while (next < missed.length) {
        root.transactionSync(() => {
          for (let done = 0; next < missed.length && done < missedBytesPerTurn; next++) {
            const { table, key, value } = missed[next]!
            done += key.length + (value?.length ?? 0)
            if (value === undefined) tables[table].removeSync(key)
            else if (table === 'meta') tables.meta.putSync(key, value, 0)
            else tables[table].putSync(key, value)
          }
        })
        if (next < missed.length) await new Promise<void>((resolve) => atTurnEnd(resolve))
      }
    } finally {
      await root.close()
    }
  }

  /** Makes the copy durable, so that it can replace the file. */
  sync(): void {
    syncFile(this.file)
  }

  remove(): void {
    removeFolder(this.#folder)
  }
}
