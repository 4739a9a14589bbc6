import { statSync } from 'node:fs'
import path from 'node:path'
import { StateError } from '../../error/index.js'
import type { CopyProgress, InspectOptions, Inspection, StoreMaintenance } from '../store.js'
import { inspectFile, type OpenStore } from './inspect/inspect-file.js'
import type { Committer } from './lmdb/committer.js'
import type { Environment } from './lmdb/environment.js'
import type { OwnerRecord } from './lmdb/owner-record.js'
import { thisFileSystem } from './lmdb/file-system.js'
import { COPY_FOLDER, DATA_FILE } from './lmdb/store-folder.js'

/**
 * Backs up and compacts a file store while it works. LMDB copies a snapshot on a thread of its own.
 *
 * Proven by test/store/file/maintenance.test.ts and test/store/power/power.test.ts.
 */
export class FileMaintenance implements StoreMaintenance {
  readonly #environment: Environment
  readonly #committer: Committer
  readonly #owner: OwnerRecord
  readonly #ending = new AbortController()
  #running: { readonly what: string; readonly folder: string; readonly done: Promise<unknown> } | undefined

  constructor(environment: Environment, committer: Committer, owner: OwnerRecord) {
    this.#environment = environment
    this.#committer = committer
    this.#owner = owner
  }

  backup(folder: string): Promise<{ readonly bytes: number }> {
    return this.#run('backup', folder, async () => {
      // Everything that was called before is in the copy.
      await this.#committer.read(() => undefined)
      await this.#environment.backup(folder)
      return { bytes: sizeOf(path.join(folder, DATA_FILE)) }
    })
  }

  compact(): Promise<{ readonly bytes: number }> {
    return this.#run('compaction', path.join(this.#environment.folder, COPY_FOLDER), async () => {
      const copy = await this.#environment.startCompaction()
      await this.#committer.runAlone(async () => {
        await this.#environment.finishCompaction(copy)
        this.#owner.rewrite()
      })
      return { bytes: this.size() }
    })
  }

  /** Reads the file while it is used. LMDB keeps the pages of the snapshot meanwhile, so the file may grow. */
  inspect(options: InspectOptions, store: OpenStore): Promise<Inspection> {
    return this.#run('verification', this.#environment.folder, async () => {
      // Everything that was called before is in the snapshot.
      await this.#committer.read(() => undefined)
      const letGo = this.#environment.keepPages()
      try {
        const signal = AbortSignal.any([this.#ending.signal, ...(options.signal ? [options.signal] : [])])
        return await inspectFile(this.#environment.folder, { ...options, signal }, store)
      } finally {
        letGo()
      }
    })
  }

  progress(): CopyProgress | undefined {
    if (this.#running === undefined) return undefined
    return { copiedBytes: sizeOf(path.join(this.#running.folder, DATA_FILE)), totalBytes: this.size() }
  }

  size(): number {
    return sizeOf(this.#environment.dataFile)
  }

  freeBytes(): number {
    return thisFileSystem(this.#environment.folder).freeBytes
  }

  /** Waits for the one that is running: the file must not be closed while it is copied. A verification ends early. */
  async idle(): Promise<void> {
    this.#ending.abort(new StateError('stopped', 'the store was stopped'))
    await this.#running?.done.catch(() => undefined)
  }

  #run<Answer>(what: string, folder: string, run: () => Promise<Answer>): Promise<Answer> {
    if (this.#running !== undefined) {
      return Promise.reject(
        new StateError('maintenance-running', `a ${this.#running.what} is running: wait until it is done`),
      )
    }
    const done = run().finally(() => (this.#running = undefined))
    this.#running = { what, folder, done }
    return done
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
