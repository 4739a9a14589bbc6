import { describe, expect, it, vi } from 'vitest'
import { MemoryStore, type ListQuery } from '../../src/store/index.js'
import { TestServer } from './test-server.js'

describe('a list over HTTP', () => {
  it('has a budget, and stops when its client has gone', async () => {
    const lists: ListQuery[] = []
    const server = await TestServer.start()
    try {
      let began: () => void = () => undefined
      const beginning = new Promise<void>((resolve) => (began = resolve))
      // A list that takes for ever unless it is aborted.
      vi.spyOn(MemoryStore.prototype, 'list').mockImplementation((query) => {
        lists.push(query)
        began()
        return new Promise((_resolve, reject) => {
          query.signal?.addEventListener('abort', () => reject(query.signal?.reason as Error))
        })
      })
      const caller = new AbortController()
      const asked = fetch(`${server.url}/v1/timers?keyPrefix=a`, {
        headers: { authorization: `Bearer ${server.token}` },
        signal: caller.signal,
      })
      await beginning
      const aborted = new Promise<void>((resolve) => {
        lists[0]!.signal!.addEventListener('abort', () => resolve())
      })
      caller.abort()
      await expect(asked).rejects.toThrow('aborted')
      await aborted
      expect(lists[0]).toMatchObject({ keyPrefix: 'a' })
      // What the server has used of the budget before it asked the store is gone.
      expect(lists[0]!.budgetMs).toBeGreaterThan(0)
      expect(lists[0]!.budgetMs).toBeLessThanOrEqual(100)
    } finally {
      vi.restoreAllMocks()
      await server.server.stop()
    }
  })
})
