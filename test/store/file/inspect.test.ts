import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { type Damage, FileStore } from '../../../src/store/index.js'
import { inspectFile } from '../../../src/store/file/inspect/inspect-file.js'
import { PageFile } from '../../../src/store/file/inspect/page-file.js'
import { PAGE_BYTES } from '../../../src/store/file/lmdb/tables.js'
import { openTimers, timer } from '../../../src/front/index.js'

const folders: string[] = []

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

const remind = timer<string>('remind')
const any = { checkRow: () => undefined }

/** A closed store with timers, dead letters, history and settings, on some hundred pages. */
async function storedFolder(): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'carillon-inspect-'))
  folders.push(folder)
  const store = await FileStore.open(folder)
  const timers = await openTimers({ store, history: 'all' })
  await timers.setMany(
    remind,
    Array.from({ length: 1500 }, (_, n) => ({ key: `k${n}`, in: 3_600_000 + n, payload: `payload ${n}` })),
  )
  for (let n = 0; n < 20; n++)
    await timers.set(remind, `long ${n}`, {
      in: '1h',
      payload: Array.from({ length: 2000 }, (_, i) => i * n).join(),
    })
  for (let n = 0; n < 50; n++) await timers.cancel(remind, `k${n}`)
  await timers.stop()
  await store.stop()
  return folder
}

describe('the inspection of a file', () => {
  it('reads every row and every checksum, and finds no damage in a sound file', async () => {
    const found = await inspectFile(await storedFolder(), any)
    expect(found.damages).toEqual([])
    expect(found.rows).toBeGreaterThanOrEqual(1470)
    expect(found.checksums).toBeGreaterThan(10)
    expect(found.records).toBeGreaterThan(5)
  })

  it('finds any single page that was overwritten, if it is in use', async () => {
    const folder = await storedFolder()
    const data = path.join(folder, 'data.mdb')
    const sound = readFileSync(data)
    const used = await usedPages(folder)
    expect(used.length).toBeGreaterThan(20)
    const missed: string[] = []
    const damagesOf = async (page: number, bytes: Buffer): Promise<readonly Damage[]> => {
      overwrite(data, page, bytes)
      const { damages } = await inspectFile(folder, any)
      overwrite(data, page, sound.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES))
      return damages
    }
    let chunkPages = 0
    for (const page of used) {
      const bytes = sound.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES)
      const noise = await damagesOf(page, Buffer.from(bytes.map((byte, i) => (byte + 31 * i + 7) & 255)))
      if (noise.length === 0) missed.push(`page ${page}, noise`)
      if ((await damagesOf(page, Buffer.alloc(PAGE_BYTES))).length === 0) missed.push(`page ${page}, zeroes`)
      if (!noise.some(({ where }) => where.includes('chunks'))) continue
      // Records have no checksum, so one that can still be read is not noticed. Chunks have one.
      chunkPages++
      const moved = Buffer.concat([bytes.subarray(1), bytes.subarray(0, 1)])
      if ((await damagesOf(page, moved)).length === 0) missed.push(`page ${page}, moved`)
    }
    expect(chunkPages).toBeGreaterThan(5)
    expect(missed).toEqual([])
  })

  it('finds a single changed byte of a chunk', async () => {
    const folder = await storedFolder()
    const data = path.join(folder, 'data.mdb')
    const bytes = readFileSync(data)
    const at = bytes.indexOf('payload 1222')
    bytes[at + 8]! ^= 1
    writeFileSync(data, bytes)
    const { damages } = await inspectFile(folder, any)
    expect(damages.filter(({ what }) => what.includes('checksum is wrong'))).toHaveLength(1)
  })
})

function overwrite(file: string, page: number, bytes: Buffer): void {
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, bytes, 0, bytes.length, page * PAGE_BYTES)
  closeSync(descriptor)
}

/** The numbers of the pages that the current snapshot uses. */
async function usedPages(folder: string): Promise<number[]> {
  const spy = vi.spyOn(PageFile.prototype, 'pages')
  await inspectFile(folder, any)
  const read = new Set(
    spy.mock.calls.flatMap(([first, count]) => Array.from({ length: count }, (_, i) => first + i)),
  )
  spy.mockRestore()
  // Of the two meta pages, the older one does not count.
  return [...read].filter((page) => page > 1)
}
