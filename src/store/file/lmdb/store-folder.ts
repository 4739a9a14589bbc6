import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { shown, StoreError } from '../../../error/index.js'
import { openingError } from './disk-error.js'
import { removeFolder, syncFile } from './durable-files.js'
import { type FileSystem, isNetwork } from './file-system.js'
import { RESERVE_FILE } from './reserve.js'
import { openRoot, PAGE_BYTES } from './tables.js'

export const DATA_FILE = 'data.mdb'
/** Where a compaction puts the copy. */
export const COPY_FOLDER = 'compacting'
export const LOCK_FILE = 'lock.mdb'
/** Where a new store's file is created, before it is renamed into place. */
const NEW_FOLDER = 'creating'
// `carillon serve` makes the key before the store.
const KEY_FILE = 'secret.key'
const ownFiles: ReadonlySet<string> = new Set([LOCK_FILE, COPY_FOLDER, NEW_FOLDER, RESERVE_FILE, KEY_FILE])
const LMDB_MAGIC = 0xbeef_c0de
const PRIVATE_FOLDER = 0o700
const PRIVATE_FILE = 0o600

/**
 * Rejects a folder that cannot be a store, before anything is written into it. Returns the topmost folder that it had
 * to create.
 */
export function checkFolder(folder: string, fileSystem: FileSystem): string | undefined {
  let firstMade: string | undefined
  try {
    firstMade = mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER })
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    for (const file of [DATA_FILE, LOCK_FILE]) {
      const whole = path.join(folder, file)
      if (existsSync(whole)) accessSync(whole, constants.R_OK | constants.W_OK)
    }
  } catch (error) {
    throw openingError(folder, error)
  }
  const { type } = fileSystem(folder)
  if (isNetwork(type)) {
    throw new StoreError(
      'store-network',
      `${folder} is on a network file system (type 0x${type.toString(16)}): use a folder on a local disk`,
    )
  }
  const files = readdirSync(folder)
  if (files.includes(DATA_FILE)) checkMagic(path.join(folder, DATA_FILE))
  else if (files.some((file) => !ownFiles.has(file))) {
    throw new StoreError(
      'store-foreign',
      `${folder} is not a store: it contains ${shown(files[0])}. Use an empty or a new folder`,
    )
  }
  return firstMade
}

/**
 * Creates the file of a new store in a folder beside its final path, and then renames it. So a file at the final path
 * is always complete, even if a power loss tears what was written to the other one.
 */
export function createDataFile(folder: string): void {
  const file = path.join(folder, DATA_FILE)
  const made = path.join(folder, NEW_FOLDER)
  rmSync(made, { recursive: true, force: true })
  if (existsSync(file) && statSync(file).size > 0) return
  mkdirSync(made, { mode: PRIVATE_FOLDER })
  try {
    // Write a trial file first: LMDB's binding uses freed memory when LMDB cannot write a new file.
    const trial = path.join(made, 'trial')
    writeFileSync(trial, Buffer.alloc(2 * PAGE_BYTES))
    syncFile(trial)
    void openRoot(made).close()
    syncFile(path.join(made, DATA_FILE))
    renameSync(path.join(made, DATA_FILE), file)
  } finally {
    removeFolder(made)
  }
}

/**
 * Takes the rights to a store's folder and files from all other users: payloads are in them as they came. A folder that
 * belongs to another user stays as it is.
 */
export function keepPrivate(folder: string): void {
  const modes = [
    [folder, PRIVATE_FOLDER],
    [path.join(folder, DATA_FILE), PRIVATE_FILE],
    [path.join(folder, LOCK_FILE), PRIVATE_FILE],
    [path.join(folder, RESERVE_FILE), PRIVATE_FILE],
  ] as const
  for (const [file, mode] of modes) {
    try {
      if ((statSync(file).mode & 0o777) !== mode) chmodSync(file, mode)
    } catch {
      // Not there, not ours, or a file system without rights.
    }
  }
}

/** LMDB itself would open some foreign files, and damage them. */
function checkMagic(file: string): void {
  const head = Buffer.alloc(28)
  const descriptor = openSync(file, 'r')
  try {
    const read = readSync(descriptor, head, 0, head.length, 0)
    if (read === 0) return
    if (read === head.length && head.readUInt32LE(24) === LMDB_MAGIC) return
  } finally {
    closeSync(descriptor)
  }
  throw new StoreError('store-foreign', `${file} is not the file of a store`)
}
