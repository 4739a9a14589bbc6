import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { FileStore } from '../../../src/store/file/file-store.js'
import { own, setOf } from '../owner.js'
import { newFolder, openIn } from './scratch.js'

let mounted: string | undefined

/** A disk of 8 MB, or undefined where this process may not mount one. */
function smallDisk(): string | undefined {
  const folder = path.join(newFolder(), 'disk')
  mkdirSync(folder)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder], { stdio: 'ignore' })
    return (mounted = folder)
  } catch {
    return undefined
  }
}

afterEach(() => {
  if (mounted !== undefined) execFileSync('umount', ['-l', mounted])
  mounted = undefined
})

describe('a full disk', () => {
  it('refuses new timers, loses none, and goes on when there is room', async (context) => {
    const disk = smallDisk()
    if (disk === undefined) return context.skip('mounting a small tmpfs takes root')
    // LMDB's binding reports the failed commit on the console as well.
    const quiet = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    writeFileSync(path.join(disk, 'ballast'), Buffer.alloc(3e6))
    const folder = path.join(disk, 'store')
    const store = await FileStore.open(folder)
    const fence = await own(store)
    const at = Date.now() + 100_000
    const acknowledged: ReturnType<typeof setOf>[] = []
    const refused: ReturnType<typeof setOf>[] = []
    const codes = new Set<unknown>()
    for (let round = 0; round < 40; round++) {
      const writes = Array.from({ length: 4 }, (_, k) =>
        Array.from({ length: 250 }, (__, i) =>
          setOf(`k${round}-${k}-${i}`, at + i, { payload: new Uint8Array(200) }),
        ),
      )
      // Cancels of what is there, in the same calls: they must come back when the call fails.
      const outcomes = await Promise.allSettled(
        writes.map((sets, k) => {
          const old = k === 0 ? acknowledged.slice(0, 1) : []
          const cancels = old.map(({ namespace, kind, key }) => ({
            type: 'cancel' as const,
            namespace,
            kind,
            key,
          }))
          return store.write(fence, { operations: [...sets, ...cancels] })
        }),
      )
      for (const [k, outcome] of outcomes.entries()) {
        if (outcome.status === 'rejected') {
          codes.add((outcome.reason as { code?: unknown }).code)
          refused.push(...writes[k]!)
          continue
        }
        if (k === 0) acknowledged.shift()
        acknowledged.push(...writes[k]!)
      }
      if (refused.length > 3000) break
    }
    quiet.mockRestore()
    expect([...codes]).toEqual(['store-full'])
    expect(acknowledged.length).toBeGreaterThan(1000)
    const check = async (open: FileStore): Promise<void> => {
      expect((await open.find(acknowledged)).every((row) => row !== undefined)).toBe(true)
      expect((await open.find(refused)).every((row) => row === undefined)).toBe(true)
      expect(await open.countRows()).toBe(acknowledged.length)
      const { items } = await open.list({ namespace: 'test', limit: 100_000 })
      expect(items).toHaveLength(acknowledged.length)
      const { created, cancelled } = await open.counts()
      expect(created - cancelled).toBe(acknowledged.length)
    }
    await check(store)
    rmSync(path.join(disk, 'ballast'))
    const more = [setOf('more', at)]
    await store.write(fence, { operations: more })
    acknowledged.push(...more)
    await check(store)
    await store.stop()
    const again = await openIn(folder)
    await check(again)
    await again.stop()
  })
})
