import { describe } from 'vitest'
import { describeExactClock } from '../exact-clock.js'
import { openStoreIn, usePostgres } from './scratch.js'

usePostgres()

describe('the clock of a PostgreSQL store', () => {
  describeExactClock(() => openStoreIn({ shardCount: 1 }))
})
