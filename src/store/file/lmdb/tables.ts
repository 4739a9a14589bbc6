import { platform } from 'node:os'
import { shown, StoreError } from '../../../error/index.js'
import type { TableName } from './batch.js'
import { open, type Root, type Table } from './lmdb.js'

/** Twice LMDB's default. LMDB walks its list of free pages in every commit, and this makes it half as long. */
export const PAGE_BYTES = 8192
// Address space, not memory: the file grows as it is written.
const MAP_BYTES = 2 ** 40

export type Tables = Readonly<Record<TableName, Table>>

/** Opens the LMDB environment of a folder, with no setting that trades durability for speed. */
export function openRoot(folder: string): Root {
  return open({
    path: folder,
    noSubdir: false,
    maxDbs: 12,
    keyEncoding: 'binary',
    encoding: 'binary',
    overlappingSync: false,
    pageSize: PAGE_BYTES,
    eventTurnBatching: false,
    ...(platform() === 'win32' ? {} : { mapSize: MAP_BYTES }),
  })
}

/** Opens the tables of a store, and creates those that are missing. */
export function openTables(root: Root, folder: string): Tables {
  // Check first whose file this is: opening a table creates it.
  const names = Array.from(root.getKeys(), (key) => String(key).replace(/\0$/, ''))
  if (names.length > 0 && !names.includes('meta')) {
    throw new StoreError(
      'store-foreign',
      `${folder} is not a store: its LMDB file has the table ${shown(names[0])}`,
    )
  }
  const table = (name: TableName, useVersions = false): Table =>
    root.openDB({ name, keyEncoding: 'binary', encoding: 'binary', useVersions })
  // `meta` comes first: if the power goes while tables are created, the file is still recognised as a store.
  const meta = table('meta', true)
  return {
    meta,
    chunks: table('chunks'),
    inbox: table('inbox'),
    dead: table('dead'),
    history: table('history'),
    settings: table('settings'),
  }
}
