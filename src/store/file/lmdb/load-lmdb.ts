import { readFileSync } from 'node:fs'
import nodeModule from 'node:module'
import path from 'node:path'
import { StoreError } from '../../../error/index.js'
import { codeOf, messageOf } from './disk-error.js'

/** The tested line of versions. */
const LMDB_LINE = '3.5'

/**
 * Loads the package. Users of a file store install it beside Carillon. A bundle cannot contain its binary, so it is also
 * looked for beside the program.
 */
export function loadLmdb(): unknown {
  // A bundle of CommonJS modules has no URL.
  const here: string | undefined = import.meta.url
  let failure: unknown
  for (const place of [here, process.argv[1], `${process.cwd()}/`]) {
    if (place === undefined) continue
    try {
      // Not imported by its name: webpack would replace such a call.
      const load = nodeModule.createRequire(place)
      checkVersion(load.resolve('lmdb'))
      return load('lmdb')
    } catch (error) {
      if (error instanceof StoreError) throw error
      // What keeps an installed package from loading says more than that it is not installed elsewhere.
      failure = failure === undefined || isAbsent(failure) ? error : failure
    }
  }
  throw new StoreError('driver-missing', adviceFor(failure), { cause: failure })
}

/** The store relies on details of the binding, so only tested versions will do. The peer range cannot say so. */
function checkVersion(entry: string): void {
  const file = path.join(path.dirname(entry), '..', 'package.json')
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }
  if (version.startsWith(`${LMDB_LINE}.`)) return
  throw new StoreError(
    'driver-unsupported',
    `a file store needs the package \`lmdb\` in version ${LMDB_LINE}, but ${version} is installed: npm install lmdb@${LMDB_LINE}`,
  )
}

function isAbsent(failure: unknown): boolean {
  return codeOf(failure) === 'MODULE_NOT_FOUND' && messageOf(failure).includes("'lmdb'")
}

function adviceFor(failure: unknown): string {
  return isAbsent(failure)
    ? `a file store needs the package \`lmdb\`, which is not installed: npm install lmdb@${LMDB_LINE}`
    : `a file store needs the package \`lmdb\`, which cannot be loaded (${messageOf(failure).split('\n')[0]}): install it again on this machine, with its optional dependencies`
}
