import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { FileStore } from '../../../src/store/file/file-store.js'
import { own, setOf } from '../owner.js'
import { newFolder, openIn } from './scratch.js'

const at = Date.now() + 1_000_000

/** Writes timers until it is stopped, with several calls always under way, and cancels every fourth one. */
class Load {
  readonly acknowledged = new Set<string>()
  #isStopped = false
  readonly #workers: Promise<void>[]

  constructor(store: FileStore, fence: Awaited<ReturnType<typeof own>>, name: string) {
    this.#workers = Array.from({ length: 4 }, (_, worker) => this.#work(store, fence, `${name}${worker}`))
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#workers)
  }

  async #work(store: FileStore, fence: Awaited<ReturnType<typeof own>>, name: string): Promise<void> {
    for (let turn = 0; !this.#isStopped; turn++) {
      const sets = Array.from({ length: 20 }, (_, n) => setOf(`${name}-${turn}-${n}`, at + turn))
      await store.write(fence, { operations: sets })
      const gone = sets.filter((_, n) => n % 4 === 0)
      await store.write(fence, {
        operations: gone.map(({ namespace, kind, key }) => ({ type: 'cancel', namespace, kind, key })),
      })
      await store.putSetting(`${name}/turn`, String(turn))
      for (const [n, { key }] of sets.entries()) if (n % 4 !== 0) this.acknowledged.add(key)
    }
  }
}

/** The keys of all timers. */
async function keysOf(store: FileStore): Promise<Set<string>> {
  const keys = new Set<string>()
  let cursor: string | undefined
  do {
    const page = await store.list({ namespace: 'test', limit: 1000, cursor })
    for (const { key } of page.items) keys.add(key)
    cursor = page.cursor
  } while (cursor !== undefined)
  return keys
}

async function fillAndCancel(store: FileStore, fence: Awaited<ReturnType<typeof own>>): Promise<void> {
  const operations = Array.from({ length: 20_000 }, (_, i) => setOf(`old${i}`, at + i))
  await store.write(fence, { operations })
  await store.write(fence, {
    operations: operations.map(({ namespace, kind, key }) => ({ type: 'cancel', namespace, kind, key })),
  })
  while ((await store.sweep(fence)).more);
}

describe('the maintenance of a file store', () => {
  it('compacts under a load that never pauses, and loses no change', async () => {
    const folder = newFolder()
    const store = await openIn(folder)
    const fence = await own(store)
    await fillAndCancel(store, fence)
    const before = store.maintenance.size()
    const load = new Load(store, fence, 'w')
    await store.compact()
    expect(statSync(path.join(folder, 'data.mdb')).size).toBeLessThan(before)
    await load.stop()
    expect(await keysOf(store)).toEqual(load.acknowledged)
    const settings = await store.settings('w')
    await store.stop()
    const again = await openIn(folder)
    expect(await keysOf(again)).toEqual(load.acknowledged)
    expect(await again.settings('w')).toEqual(settings)
    const [{ rows, counts }] = (await again.tallies()) as [Awaited<ReturnType<typeof again.tallies>>[0]]
    expect(rows).toBe(counts.created - counts.cancelled - counts.replaced - counts.settled - counts.dead)
    expect(existsSync(path.join(folder, 'compacting'))).toBe(false)
  })

  it('backs up under load: the copy has every change that was acknowledged before', async () => {
    const store = await openIn(newFolder())
    const fence = await own(store)
    await fillAndCancel(store, fence)
    const load = new Load(store, fence, 'w')
    while (load.acknowledged.size < 200) await store.now()
    const before = new Set(load.acknowledged)
    const copy = path.join(newFolder(), 'copy')
    await store.backup(copy)
    await load.stop()
    const restored = await openIn(copy)
    const found = await keysOf(restored)
    expect([...before].filter((key) => !found.has(key))).toEqual([])
  })

  it('runs one at a time, and reports its progress', async () => {
    const store = await openIn(newFolder())
    const fence = await own(store)
    await fillAndCancel(store, fence)
    expect(store.maintenance.progress()).toBeUndefined()
    const compacting = store.compact()
    expect(store.maintenance.progress()).toEqual({
      copiedBytes: expect.any(Number),
      totalBytes: store.maintenance.size(),
    })
    await expect(store.backup(path.join(newFolder(), 'copy'))).rejects.toMatchObject({
      code: 'maintenance-running',
    })
    await compacting
    expect(store.maintenance.progress()).toBeUndefined()
    await store.compact()
  })

  it('is finished before the store stops', async () => {
    const folder = newFolder()
    const store = await openIn(folder)
    await fillAndCancel(store, await own(store))
    const before = store.maintenance.size()
    const compacting = store.compact()
    await store.stop()
    await compacting
    expect(statSync(path.join(folder, 'data.mdb')).size).toBeLessThan(before)
    await expect(store.compact()).rejects.toMatchObject({ code: 'stopped' })
  })
})
