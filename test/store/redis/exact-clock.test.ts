import { afterAll, describe } from 'vitest'
import { startRedis } from '../../servers/redis.js'
import { describeExactClock } from '../exact-clock.js'
import { withNewPrefix } from './prefix.js'
import { openAt } from './open-at.js'

const server = await startRedis()
afterAll(() => server.stop())

describe('the clock of a Redis store', () => {
  describeExactClock(() => openAt(withNewPrefix(server.url)))
})
