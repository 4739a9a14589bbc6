import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { FileStore } from '../../../src/store/file/file-store.js'
import { own, setOf } from '../owner.js'
import { newFolder, openIn } from './scratch.js'

let mounted: string | undefined

/** Mounts a disk of 8 MB. Returns undefined where this process may not do that. */
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

describe('a file store on a full disk', () => {
  it('rejects new timers with store-full, loses none, and goes on when there is space again', async (context) => {
    const disk = smallDisk()
    if (disk === undefined) return context.skip('mounting a small tmpfs needs root')
    // LMDB's binding also prints the failed commit to the console.
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
      // The same calls also cancel stored timers, which must come back when a call fails.
      const outcomes = await Promise.allSettled(
        writes.map((sets, k) => {
          const cancelled = k === 0 ? acknowledged.slice(0, 1) : []
          const cancels = cancelled.map(({ namespace, kind, key }) => ({
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
