import path from 'node:path'
import { StoreError } from '../../../error/index.js'
import type { TimerRow } from '../../../timer/index.js'
import { DamageLog } from '../../damage-log.js'
import type { InspectOptions, Inspection } from '../../store.js'
import type { TableName } from '../lmdb/batch.js'
import { DATA_FILE } from '../lmdb/store-folder.js'
import { checkChunk } from '../rows/chunk-checksum.js'
import { parseChunkKey } from '../rows/chunk-key.js'
import { type Entry, TreeWalk } from './tree-walk.js'
import { PageFile, TREE_BYTES, type Tree, treeOf } from './page-file.js'

// The value of an entry with a version begins with the version.
const VERSION_BYTES = 8
const tableNames: readonly TableName[] = ['meta', 'chunks', 'inbox', 'dead', 'history', 'settings']

/** What the inspection of an open store needs besides the file. */
export interface OpenStore {
  /** About how many rows there are. */
  readonly totalRows: number
  /** Whether the store still has a row of this place. */
  readonly hasRow: (row: TimerRow) => Promise<boolean>
}

/**
 * Reads every page that is in use, every chunk with its checksum, and every record. It does not open the store, and it
 * reads the file without LMDB. Nothing may be committed meanwhile, unless a reading transaction keeps the pages.
 */
export async function inspectFile(
  folder: string,
  options: InspectOptions,
  store?: OpenStore,
): Promise<Inspection> {
  const file = await PageFile.open(path.join(folder, DATA_FILE))
  try {
    const log = new DamageLog(options, store?.totalRows ?? 0)
    const snapshot = await file.snapshot()
    const walk = new TreeWalk(file, snapshot, (page, what) => log.add(`page ${page}`, what))
    const trees = await tablesOf(walk, snapshot.tables, log)
    for (const [name, tree] of trees) {
      for await (const entry of walk.entries(tree)) {
        await checkEntry(name, entry, options, log, store)
        log.step()
      }
    }
    const inspection = log.result()
    if (store === undefined && inspection.damageCount > 0) await checkUnchanged(file, snapshot.transaction)
    return inspection
  } finally {
    await file.close()
  }
}

/** The trees of the tables, by name. */
async function tablesOf(walk: TreeWalk, tree: Tree, log: DamageLog): Promise<Map<TableName, Tree>> {
  const trees = new Map<TableName, Tree>()
  for await (const { key, value, isTable, page } of walk.entries(tree)) {
    const found = key.toString().replace(/\0$/, '')
    const name = tableNames.find((each) => each === found)
    if (name === undefined || !isTable || value.length !== TREE_BYTES)
      log.add(`page ${page}`, 'it names no table of Carillon')
    else trees.set(name, treeOf(value, 0))
  }
  for (const name of tableNames) if (!trees.has(name)) log.add('the file', `the table ${name} is missing`)
  return trees
}

async function checkEntry(
  table: TableName,
  { key, value, page }: Entry,
  { checkRow }: InspectOptions,
  log: DamageLog,
  store: OpenStore | undefined,
): Promise<void> {
  const where = `page ${page} (${table})`
  if (table === 'chunks') {
    const rows: TimerRow[] = []
    log.try(where, () => rows.push(...rowsOf(key, value, log)))
    for (const row of rows) {
      const what = checkRow(row)
      // A row that was removed stays in its chunk for a while.
      if (what !== undefined && (store === undefined || (await store.hasRow(row))))
        log.add(`the timer ${row.kind}/${row.key} of the namespace ${row.namespace}`, what)
    }
    return
  }
  log.records++
  if (table !== 'meta') log.try(where, () => void JSON.parse(value.toString()))
  else if (value.length < VERSION_BYTES) log.add(where, 'its value is too short')
}

function rowsOf(key: Buffer, value: Buffer, log: DamageLog): readonly TimerRow[] {
  const known = parseChunkKey(key)
  const { rows, hasChecksum } = checkChunk(value)
  if (known?.rows !== rows.length || known.bytes !== value.length)
    throw new StoreError('store-damaged', 'its key and its value do not belong together')
  log.rows += rows.length
  if (hasChecksum) log.checksums++
  return rows
}

/** Pages that are written meanwhile look damaged. */
async function checkUnchanged(file: PageFile, transaction: number): Promise<void> {
  const { transaction: now } = await file.snapshot()
  if (now === transaction) return
  throw new StoreError(
    'store-in-use',
    'the file was written meanwhile: a server has it open. Ask that server: carillon verify --deep --url …',
  )
}
