import { rmSync } from 'node:fs'
import { describe, it } from 'vitest'
import { FileStore } from '../../../src/store/file/file-store.js'
import { describeStoreContract } from '../../../src/testing/index.js'
import { newFolder } from './scratch.js'
import { modelFromEnv } from '../model-from-env.js'

describeStoreContract('file', async (options) => FileStore.open(newFolder(), options), {
  runner: { describe, it },
  model: modelFromEnv(),
  reopen: async (stopped, options) => FileStore.open((stopped as FileStore).folder, options),
  remove: async (stopped) => rmSync((stopped as FileStore).folder, { recursive: true, force: true }),
  lacks: { claim: 'a file has one process only' },
})
