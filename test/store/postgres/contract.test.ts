import { describe, it } from 'vitest'
import { PostgresStore } from '../../../src/store/postgres/postgres-store.js'
import { describeStoreContract } from '../../../src/testing/index.js'
import { modelFromEnv } from '../model-from-env.js'
import { newSchema, sql, thisServer, usePostgres } from './scratch.js'

usePostgres()

describeStoreContract(
  'postgres',
  async (options) => PostgresStore.open(thisServer().url, { ...options, schema: newSchema() }),
  {
    runner: { describe, it },
    // Only 10,000 operations, because each step asks a server.
    model: { rounds: 4, operationsPerRound: 2500, ...modelFromEnv() },
    reopen: async (stopped, options) =>
      PostgresStore.open(thisServer().url, { ...options, schema: (stopped as PostgresStore).schema }),
    remove: async (stopped) => {
      await sql(`drop schema "${(stopped as PostgresStore).schema}" cascade`)
    },
  },
)
