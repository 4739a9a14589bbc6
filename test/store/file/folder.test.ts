import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { isNetwork } from '../../../src/store/file/lmdb/file-system.js'
import { FileStore } from '../../../src/store/file/file-store.js'
import { own, setOf } from '../owner.js'
import { newFolder, openIn } from './scratch.js'

const { open } = createRequire(import.meta.url)('lmdb') as {
  readonly open: (options: object) => {
    put(key: unknown, value: unknown, version?: number): Promise<boolean>
    openDB(options: object): { put(key: unknown, value: unknown, version?: number): Promise<boolean> }
    close(): Promise<void>
  }
}
const binary = { keyEncoding: 'binary', encoding: 'binary', overlappingSync: false } as const

describe('the folder of a file store', () => {
  it('rejects a second open in the same process, under any path', async () => {
    const folder = newFolder()
    await openIn(folder)
    await expect(FileStore.open(folder)).rejects.toMatchObject({ code: 'store-in-use' })
    await expect(FileStore.open(`${folder}/../${path.basename(folder)}`)).rejects.toMatchObject({
      code: 'store-in-use',
    })
  })

  it('rejects another process while one has it open, and opens at once after a kill -9', async () => {
    const folder = newFolder()
    // Write an owner mark as another running process would.
    const store = await FileStore.open(folder)
    await store.stop()
    const child = spawn('sleep', ['60'], { stdio: 'ignore' })
    await once(child, 'spawn')
    await putOwner(folder, child.pid!)
    const started = performance.now()
    await expect(FileStore.open(folder)).rejects.toMatchObject({ code: 'store-in-use' })
    child.kill('SIGKILL')
    await once(child, 'exit')
    await openIn(folder)
    expect(performance.now() - started).toBeLessThan(5000)
  })

  it('opens when the owner mark names a process with the same pid but another start time', async () => {
    const folder = newFolder()
    await (await FileStore.open(folder)).stop()
    const child = spawn('sleep', ['60'], { stdio: 'ignore' })
    await once(child, 'spawn')
    try {
      await putOwner(folder, child.pid!, { started: '1' })
      expect(await (await openIn(folder)).countRows()).toBe(0)
    } finally {
      child.kill('SIGKILL')
    }
  })

  it('rejects writes of an owner after another process has taken over', async () => {
    const folder = newFolder()
    const store = await openIn(folder)
    const fence = await own(store)
    await putOwnerInside(store)
    const operations = [setOf('a', Date.now() + 1000)]
    await expect(store.write(fence, { operations })).rejects.toMatchObject({ code: 'store-in-use' })
    expect(await store.find(operations)).toEqual([undefined])
  })

  it('is rejected when it contains other files, or is a file itself', async () => {
    const folder = newFolder()
    writeFileSync(path.join(folder, 'letter.txt'), 'dear')
    await expect(FileStore.open(folder)).rejects.toMatchObject({ code: 'store-foreign' })
    expect(readdirSync(folder)).toEqual(['letter.txt'])
    const file = path.join(newFolder(), 'file')
    writeFileSync(file, 'dear')
    await expect(FileStore.open(file)).rejects.toMatchObject({ code: 'store-foreign' })
  })

  it('is rejected when its data file is a text file, or an LMDB file with other tables', async () => {
    const text = newFolder()
    writeFileSync(path.join(text, 'data.mdb'), 'something else '.repeat(1000))
    await expect(FileStore.open(text)).rejects.toMatchObject({ code: 'store-foreign' })
    expect(readFileSync(path.join(text, 'data.mdb'), 'utf8')).toMatch(/^something else /)
    const other = newFolder()
    const root = open({ path: other, noSubdir: false, ...binary })
    await root.openDB({ name: 'theirs', ...binary }).put(Buffer.from('a'), Buffer.from('b'))
    await root.close()
    await expect(FileStore.open(other)).rejects.toMatchObject({ code: 'store-foreign' })
  })

  it('is rejected when a newer version wrote it, or when its format is unknown', async () => {
    for (const [format, code] of [
      [{ format: 'carillon', version: 2, shardCount: 1 }, 'store-newer'],
      [{ format: 'other', version: 1, shardCount: 1 }, 'store-damaged'],
    ] as const) {
      const folder = newFolder()
      await (await FileStore.open(folder)).stop()
      await putMeta(folder, 'format', JSON.stringify(format))
      await expect(FileStore.open(folder)).rejects.toMatchObject({ code })
    }
  })

  it('rejects calls with store-damaged when a chunk is damaged', async () => {
    const folder = newFolder()
    const store = await FileStore.open(folder)
    const fence = await own(store)
    await store.write(fence, { operations: [setOf('a', Date.now() + 1000)] })
    await store.stop()
    const file = path.join(folder, 'data.mdb')
    const bytes = readFileSync(file)
    const at = bytes.indexOf('payload of a')
    expect(at).toBeGreaterThan(0)
    // The header of the chunk is just before its first row.
    const descriptor = openSync(file, 'r+')
    writeSync(descriptor, Buffer.alloc(80, 0xff), 0, 80, at - 78)
    closeSync(descriptor)
    const damaged = await openIn(folder)
    await expect(damaged.find([setOf('a', 0)])).rejects.toMatchObject({ code: 'store-damaged' })
  })

  it('is rejected when it is not writable', async () => {
    const folder = newFolder()
    // Root may write everywhere except on a disk that is mounted read-only.
    const isRoot = process.getuid?.() === 0
    if (isRoot) execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', folder])
    else chmodSync(folder, 0o555)
    try {
      await expect(FileStore.open(folder)).rejects.toMatchObject({ code: 'store-read-only' })
    } finally {
      if (isRoot) execFileSync('umount', ['-l', folder])
      else chmodSync(folder, 0o755)
    }
  })

  it('is rejected on a network file system', async () => {
    const folder = newFolder()
    const fileSystem = () => ({ type: 0x6969, freeBytes: 1e9 })
    await expect(FileStore.open(folder, { fileSystem })).rejects.toMatchObject({ code: 'store-network' })
    expect(readdirSync(folder)).toEqual([])
    expect([0x6969, 0xff534d42, -11317950, 0xef53, 0x01021994].map(isNetwork)).toEqual([
      true,
      true,
      true,
      false,
      false,
    ])
  })

  it('rejects a payload above maxPayloadBytes, and stores one of exactly that size', async () => {
    const store = await openIn(newFolder(), { maxPayloadBytes: 300_000 })
    const fence = await own(store)
    const at = Date.now() + 1000
    const large = setOf('large', at, { payload: new Uint8Array(300_000).fill(3) })
    const larger = setOf('larger', at, { payload: new Uint8Array(300_001) })
    await expect(store.write(fence, { operations: [large, larger] })).rejects.toMatchObject({
      code: 'payload-too-large',
    })
    expect(await store.countRows()).toBe(0)
    await store.write(fence, { operations: [large, setOf('after', at)] })
    const [found] = await store.find([large])
    expect(Buffer.compare(found!.payload, large.payload)).toBe(0)
  })

  it('can be backed up during writes, and the copy opens at once', async () => {
    const store = await openIn(newFolder())
    const fence = await own(store)
    const at = Date.now() + 100_000
    const write = (from: number) =>
      store.write(fence, { operations: Array.from({ length: 100 }, (_, i) => setOf(`k${from + i}`, at + i)) })
    await write(0)
    const copy = path.join(newFolder(), 'copy')
    await Promise.all([store.backup(copy), write(100), write(200)])
    const restored = await openIn(copy)
    expect(await restored.countRows()).toBeGreaterThanOrEqual(100)
    expect((await restored.countRows()) % 100).toBe(0)
    await expect(store.backup(copy)).rejects.toMatchObject({ code: 'store-foreign' })
    expect(await store.countRows()).toBe(300)
  })

  it('shrinks its file by compaction, and goes on working', async () => {
    const folder = newFolder()
    const store = await openIn(folder)
    const fence = await own(store)
    const at = Date.now() + 100_000
    const operations = Array.from({ length: 20_000 }, (_, i) => setOf(`k${i}`, at + i))
    await store.write(fence, { operations })
    await store.write(fence, {
      operations: operations
        .slice(10)
        .map(({ namespace, kind, key }) => ({ type: 'cancel', namespace, kind, key })),
    })
    while ((await store.sweep(fence)).more);
    const before = readFileSync(path.join(folder, 'data.mdb')).length
    const [, found] = await Promise.all([store.compact(), store.find([operations[3]!])])
    expect(found[0]?.key).toBe('k3')
    expect(readFileSync(path.join(folder, 'data.mdb')).length).toBeLessThan(before / 4)
    await store.write(fence, { operations: [setOf('later', at)] })
    await store.stop()
    const again = await openIn(folder)
    expect(await again.countRows()).toBe(11)
    expect(existsSync(path.join(folder, 'compacting'))).toBe(false)
  })
})

async function putMeta(folder: string, key: string, value: string, version = 0): Promise<void> {
  const root = open({ path: folder, noSubdir: false, ...binary })
  const meta = root.openDB({ name: 'meta', useVersions: true, ...binary })
  await meta.put(Buffer.from(key), Buffer.from(value), version)
  await root.close()
}

/** Writes an owner mark that names a running process. */
async function putOwner(folder: string, pid: number, changes: object = {}): Promise<void> {
  const text = (file: string): string => readFileSync(file, 'utf8').trim()
  const stat = text(`/proc/${pid}/stat`)
  const { dev, ino } = statSync(path.join(folder, 'data.mdb'))
  const mark = {
    file: `${dev}:${ino}`,
    pid,
    boot: text('/proc/sys/kernel/random/boot_id'),
    started: stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19],
    space: readlinkSync('/proc/self/ns/pid'),
    host: 'here',
    ...changes,
  }
  await putMeta(folder, 'owner', JSON.stringify(mark), 7)
}

/** Changes the session in the owner mark of an open store, as a newcomer in another container would. */
async function putOwnerInside(store: FileStore): Promise<void> {
  await putMeta(store.folder, 'owner', '{}', 4711)
}
