import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { InvalidInputError, shown } from '../error/index.js'

/** Holds the key for the targets of a file store, in its folder. */
const KEY_FILE = 'secret.key'
const VARIABLE = 'CARILLON_SECRET_KEY'

/**
 * The key that encrypts the targets of a store: CARILLON_SECRET_KEY, or for a file store the key in its folder. `serve`
 * makes that key if there is none. Other stores have none without the variable: all their instances need the same one.
 */
export async function secretKeyOf(
  store: string,
  environment: Readonly<Record<string, string | undefined>>,
  isMade: boolean,
): Promise<string | undefined> {
  const given = environment[VARIABLE]
  if (given !== undefined && given !== '') return given
  const { parseStoreUrl } = await import('../store/index.js')
  const location = parseStoreUrl(store)
  if (location.kind !== 'file') return undefined
  const file = `${location.folder}/${KEY_FILE}`
  if (isMade) await makeKey(location.folder, file)
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw new InvalidInputError('invalid-option', `cannot read the key ${shown(file)}: ${String(error)}`)
  }
}

/** Makes a key that only this user can read, unless there is one. */
async function makeKey(folder: string, file: string): Promise<void> {
  const { newSealKey } = await import('../server/index.js')
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(file, `${newSealKey()}\n`, { mode: 0o600, flag: 'wx' })
  } catch {
    // There is one already, or the store says better what is wrong with its folder.
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
