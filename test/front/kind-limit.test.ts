import { describe, expect, it } from 'vitest'
import { openTimers, timer } from '../../src/index.js'
import { MAX_KINDS } from '../../src/front/defaults.js'
import { MemoryStore } from '../../src/store/index.js'

describe('the kinds of a namespace', () => {
  it(`are ${MAX_KINDS} at most, and those that are there can still be set`, async () => {
    const store = new MemoryStore()
    for (let i = 1; i < MAX_KINDS; i++) await store.putSetting(`kind/default/k${i}`, 'known')
    await using timers = await openTimers({ store, logger: false })
    expect((await timers.set(timer('last'), 'a', { in: '1h' })).outcome).toBe('set')
    await expect(timers.set(timer('one-more'), 'a', { in: '1h' })).rejects.toMatchObject({
      code: 'too-many-kinds',
    })
    expect((await timers.set(timer('k5'), 'a', { in: '1h' })).outcome).toBe('set')
    expect((await timers.set(timer('last'), 'b', { in: '1h' })).outcome).toBe('set')
    expect(await store.settings('kind/default/')).toHaveLength(MAX_KINDS)
  })
})
