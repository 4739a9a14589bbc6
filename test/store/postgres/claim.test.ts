import { describe } from 'vitest'
import { playClaims } from '../claim-scenes.js'
import { newSchema, thisServer, usePostgres } from './scratch.js'

usePostgres()

describe('claims on PostgreSQL', () => {
  playClaims({
    newUrl: () => `${thisServer().url}?schema=${newSchema()}`,
    port: () => Number(new URL(thisServer().url).port),
  })
})
