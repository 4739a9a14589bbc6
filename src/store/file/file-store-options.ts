import { checkFunction, checkOptions, checkWhole } from '../../error/index.js'
import { type Clock, systemClock } from '../../time/index.js'
import { nameLimits } from '../../timer/index.js'
import { MOST_SHARDS } from '../shard-count.js'
import type { Strategy } from '../store.js'
import { type FileSystem, thisFileSystem } from './file-system.js'
import type { OpenProgress } from './index-builder.js'
import { type Tuning, tuningDefaults } from './tuning.js'

export interface FileStoreOptions {
  readonly clock?: Clock
  /** Only `owned`: a file has no instances to share it. */
  readonly strategy?: Strategy
  /** How many shards a new store gets. Default 1; one that is there keeps what it has. */
  readonly shardCount?: number
  readonly maxPayloadBytes?: number
  /** Hears how far opening has got; near timers can be loaded before it is complete. */
  readonly onProgress?: (progress: OpenProgress) => void
  /** Sizes, each with a default of its own. */
  readonly tuning?: Partial<Tuning>
  /** What is asked of the file system: for tests. */
  readonly fileSystem?: FileSystem
}

const known = ['clock', 'strategy', 'shardCount', 'maxPayloadBytes', 'onProgress', 'tuning', 'fileSystem']

// A row's offset in a chunk has 32 bits, and a payload is held in memory more than once on its way.
const MOST_PAYLOAD_BYTES = 64 << 20

/** The options with their defaults; refuses what it does not know. */
export function fileStoreOptions(
  options: FileStoreOptions,
): Required<FileStoreOptions> & { readonly tuning: Tuning } {
  checkOptions('FileStore', options, known)
  checkOptions('tuning', options.tuning ?? {}, Object.keys(tuningDefaults))
  const whole = {
    clock: options.clock ?? systemClock,
    strategy: options.strategy ?? 'owned',
    shardCount: options.shardCount ?? 1,
    maxPayloadBytes: options.maxPayloadBytes ?? nameLimits.payloadBytes,
    onProgress: options.onProgress ?? (() => undefined),
    tuning: { ...tuningDefaults, ...options.tuning },
    fileSystem: options.fileSystem ?? thisFileSystem,
  }
  checkWhole('shardCount', whole.shardCount, 1, MOST_SHARDS)
  checkWhole('maxPayloadBytes', whole.maxPayloadBytes, 0, MOST_PAYLOAD_BYTES)
  for (const [name, size] of Object.entries(whole.tuning)) checkWhole(`tuning.${name}`, size, 1, 2 ** 30)
  checkFunction('onProgress', whole.onProgress)
  checkFunction('fileSystem', whole.fileSystem)
  return whole
}
