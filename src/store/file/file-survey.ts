import { accessSync, constants, existsSync } from 'node:fs'
import path from 'node:path'
import { StoreError } from '../../error/index.js'
import { type Finding, finding, type StoredFormat, type StoreSurvey } from '../survey/survey.js'
import { Environment } from './lmdb/environment.js'
import { type FileSystem, isNetwork, thisFileSystem } from './lmdb/file-system.js'
import { openDefaults } from './defaults.js'
import { FORMAT_VERSION } from './format.js'
import { holderOf } from './lmdb/owner-record.js'

/** Inspects the folder of a file store without taking it. */
export async function surveyFile(
  folder: string,
  fileSystem: FileSystem = thisFileSystem,
): Promise<StoreSurvey> {
  const isThere = existsSync(path.join(folder, 'data.mdb'))
  const nearest = nearestFolder(folder)
  const findings = [
    freeSpaceFinding(nearest, fileSystem),
    fileSystemFinding(nearest, fileSystem),
    rightsFinding(nearest),
  ]
  const known = { knownVersion: FORMAT_VERSION, findings }
  if (!isThere) return { format: undefined, heldBy: undefined, ...known }
  try {
    const { format, heldBy } = await readFolder(folder, fileSystem)
    return { format, heldBy, ...known }
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'store-in-use') throw error
    return { format: undefined, heldBy: 'this process', ...known }
  }
}

async function readFolder(
  folder: string,
  fileSystem: FileSystem,
): Promise<{ format: StoredFormat | undefined; heldBy: string | undefined }> {
  const environment = Environment.open(folder, fileSystem)
  try {
    const text = environment.getMeta('format')
    const { version, shardCount } = JSON.parse(text ?? '{}') as Partial<StoredFormat>
    const format =
      version === undefined || shardCount === undefined
        ? undefined
        : { version, shardCount, strategy: 'owned' as const }
    return { format, heldBy: holderOf(environment) }
  } finally {
    await environment.close()
  }
}

/** The folder itself, or the one in which it would be created. */
function nearestFolder(folder: string): string {
  let at = path.resolve(folder)
  while (!existsSync(at)) at = path.dirname(at)
  return at
}

function freeSpaceFinding(folder: string, fileSystem: FileSystem): Finding {
  const { freeBytes } = fileSystem(folder)
  return finding(
    'room on the disk',
    `${Math.floor(freeBytes / 1024 ** 2)} MiB free`,
    freeBytes >= openDefaults.lowDiskBytes,
    {
      verdict: 'warn',
      advice: 'free some space: a store that cannot write rejects new timers',
    },
  )
}

function fileSystemFinding(folder: string, fileSystem: FileSystem): Finding {
  const isLocal = !isNetwork(fileSystem(folder).type)
  return finding(
    'persistence',
    isLocal ? 'a local disk; every commit is flushed' : 'a network file system',
    isLocal,
    {
      verdict: 'fail',
      advice: 'keep the folder on a local disk: flushes on network file systems are not reliable',
    },
  )
}

function rightsFinding(folder: string): Finding {
  let isWritable = true
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    isWritable = false
  }
  return finding('rights', isWritable ? `${folder} is writable` : `${folder} is not writable`, isWritable, {
    verdict: 'fail',
    advice: 'make the folder writable for the user that runs Carillon',
  })
}
