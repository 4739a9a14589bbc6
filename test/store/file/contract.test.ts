import { rmSync } from 'node:fs'
import { describe, it } from 'vitest'
import { FileStore } from '../../../src/store/file/file-store.js'
import { describeStoreContract } from '../../../src/testing/index.js'
import { modelFromEnv } from '../model-from-env.js'
import { newFolder } from './scratch.js'

// Once with the defaults, and once with sizes so small that buckets are split, repacked and read in many segments.
const small = { segmentRows: 8, heavyRows: 12, litterBytes: 500, manyChunks: 4, listedRows: 20 }

for (const [name, tuning] of [
  ['file', {}],
  ['file with small sizes', small],
] as const) {
  describeStoreContract(name, async (options) => FileStore.open(newFolder(), { ...options, tuning }), {
    runner: { describe, it },
    model: modelFromEnv(),
    reopen: async (stopped, options) => FileStore.open((stopped as FileStore).folder, { ...options, tuning }),
    remove: async (stopped) => rmSync((stopped as FileStore).folder, { recursive: true, force: true }),
    lacks: { claim: 'a file store has one process' },
  })
}
