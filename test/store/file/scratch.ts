import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach } from 'vitest'
import { FileStore } from '../../../src/store/file/file-store.js'
import type { FileStoreOptions } from '../../../src/store/file/file-store-options.js'
import type { Fence, SetOperation, ShardRow } from '../../../src/store/index.js'

const folders: string[] = []
const stores: FileStore[] = []

afterEach(async () => {
  for (const store of stores.splice(0)) await store.stop()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** A folder of its own, removed after the test. */
export function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'carillon-file-'))
  folders.push(folder)
  return folder
}

/** A store that is stopped after the test. */
export async function openIn(folder: string, options: FileStoreOptions = {}): Promise<FileStore> {
  const store = await FileStore.open(folder, options)
  stores.push(store)
  return store
}

let nonces = 0

export async function own(
  store: FileStore,
  shard = 0,
): Promise<Fence & { readLevel: ShardRow['readLevel'] }> {
  const row = (await store.shards())[shard]!
  const claimed = await store.claim({
    shard,
    owner: 'test',
    nonce: ++nonces,
    leaseMs: 1e9,
    expectedEpoch: row.epoch,
  })
  if (claimed === undefined) throw new Error(`shard ${shard} is owned by ${row.owner}`)
  const { epoch, nonce, settledLevel, readLevel } = claimed
  return { shard, epoch, nonce, settledLevel, readLevel }
}

let identities = 0

export function setOf(key: string, position: number, parts: Partial<SetOperation> = {}): SetOperation {
  return {
    type: 'set',
    namespace: 'test',
    kind: 'sample',
    key,
    identity: ++identities,
    createdAt: 1_700_000_000_000,
    payload: Buffer.from(`payload of ${key}`),
    tags: [],
    details: '',
    dueAt: position,
    attempt: 0,
    occurrence: 0,
    position,
    ...parts,
  }
}
