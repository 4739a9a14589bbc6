import { describe, it } from 'vitest'
import { MemoryStore } from '../../src/store/index.js'
import { describeStoreContract } from '../../src/testing/index.js'
import { modelFromEnv } from './model-from-env.js'

describeStoreContract('memory', async (options) => new MemoryStore(options), {
  runner: { describe, it },
  model: modelFromEnv(),
  lacks: { durability: 'its data ends with the process' },
})
