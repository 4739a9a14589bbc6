import { afterAll, beforeAll, describe } from 'vitest'
import { type RedisServer, startRedis } from '../../servers/redis.js'
import { playClaims } from '../claim-scenes.js'
import { withNewPrefix } from './prefix.js'

let server: RedisServer

beforeAll(async () => {
  server = await startRedis()
})

afterAll(async () => {
  await server.stop()
})

describe('claims on Redis', () => {
  playClaims({ newUrl: () => withNewPrefix(server.url), port: () => Number(new URL(server.url).port) })
})
