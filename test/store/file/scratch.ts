import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach } from 'vitest'
import { FileStore } from '../../../src/store/file/file-store.js'
import type { FileStoreOptions } from '../../../src/store/file/file-store-options.js'

const folders: string[] = []
const stores: FileStore[] = []

afterEach(async () => {
  for (const store of stores.splice(0)) await store.stop()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** Creates a folder that is removed after the test. */
export function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'carillon-file-'))
  folders.push(folder)
  return folder
}

/** Opens a store that is stopped after the test. */
export async function openIn(folder: string, options: FileStoreOptions = {}): Promise<FileStore> {
  const store = await FileStore.open(folder, options)
  stores.push(store)
  return store
}
