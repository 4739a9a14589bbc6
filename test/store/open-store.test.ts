import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/store/index.js'
import { newFolder } from './file/scratch.js'

describe('openStore', () => {
  it('opens the kind of store that the URL names', async () => {
    const folder = newFolder()
    for (const [url, name] of [
      ['memory:', 'memory'],
      [`file:${folder}`, 'file'],
      [`file://${folder}`, 'file'],
      [`FILE://localhost${folder}`, 'file'],
    ] as const) {
      const store = await openStore(url)
      expect(store.name).toBe(name)
      await store.stop()
    }
  })

  it.each([
    '',
    'timers',
    './timers',
    'file:',
    'file: ',
    'file://host/timers',
    'memory:x',
    'mysql://x',
    'file:a\0b',
  ])('refuses the URL %j and shows valid examples', async (url) => {
    await expect(openStore(url)).rejects.toMatchObject({
      code: 'invalid-store-url',
      message: expect.stringContaining("'file:./timers'") as unknown,
    })
  })

  it('refuses a URL that is no string, unknown options and a strategy that the store lacks', async () => {
    await expect(openStore(7 as unknown as string)).rejects.toMatchObject({ code: 'invalid-store-url' })
    await expect(openStore('memory:', { noSync: true } as object)).rejects.toMatchObject({
      code: 'unknown-option',
    })
    await expect(openStore(`file:${newFolder()}`, { strategy: 'claim' })).rejects.toMatchObject({
      code: 'wrong-strategy',
    })
  })
})
