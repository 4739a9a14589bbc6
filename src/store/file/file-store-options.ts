import { checkFunction, checkOptions, checkInteger } from '../../error/index.js'
import { type Clock, systemClock } from '../../time/index.js'
import { nameLimits } from '../../timer/index.js'
import { MAX_SHARDS } from '../shard-count.js'
import type { StoreMode } from '../store.js'
import { type FileSystem, thisFileSystem } from './lmdb/file-system.js'
import type { OpenProgress } from './rows/index-builder.js'
import { openDefaults, type Tuning, tuningDefaults } from './defaults.js'

/** The options of a file store. */
export interface FileStoreOptions {
  readonly clock?: Clock
  /** Only `owned`: instances cannot share a file. */
  readonly strategy?: StoreMode
  /** How many shards a new store gets, 1 by default. An existing store keeps its number. */
  readonly shardCount?: number
  readonly maxPayloadBytes?: number
  /** Called while the store builds its index. Near timers can be loaded before that is complete. */
  readonly onProgress?: (progress: OpenProgress) => void
  /** Sizes, for tests. Each has a default. */
  readonly tuning?: Partial<Tuning>
  /** Reads type and free space of the file system, for tests. */
  readonly fileSystem?: FileSystem
}

const known = ['clock', 'strategy', 'shardCount', 'maxPayloadBytes', 'onProgress', 'tuning', 'fileSystem']

/** Fills in the defaults. Rejects unknown and invalid options. */
export function fileStoreOptions(
  options: FileStoreOptions,
): Required<FileStoreOptions> & { readonly tuning: Tuning } {
  checkOptions('FileStore', options, known)
  checkOptions('tuning', options.tuning ?? {}, Object.keys(tuningDefaults))
  const complete = {
    clock: options.clock ?? systemClock,
    strategy: options.strategy ?? 'owned',
    shardCount: options.shardCount ?? openDefaults.shardCount,
    maxPayloadBytes: options.maxPayloadBytes ?? nameLimits.payloadBytes,
    onProgress: options.onProgress ?? (() => undefined),
    tuning: { ...tuningDefaults, ...options.tuning },
    fileSystem: options.fileSystem ?? thisFileSystem,
  }
  checkInteger('shardCount', complete.shardCount, 1, MAX_SHARDS)
  checkInteger('maxPayloadBytes', complete.maxPayloadBytes, 0, openDefaults.maxPayloadBytesLimit)
  for (const [name, size] of Object.entries(complete.tuning)) checkInteger(`tuning.${name}`, size, 1, 2 ** 30)
  checkFunction('onProgress', complete.onProgress)
  checkFunction('fileSystem', complete.fileSystem)
  return complete
}
