import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { platform } from 'node:os'
import path from 'node:path'
import { codeOf } from './disk-error.js'

/** Makes the contents of a file durable. */
export function syncFile(target: string): void {
  const descriptor = openSync(target, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Makes the names in a folder durable, where the system can do that. */
export function syncFolder(folder: string): void {
  if (platform() === 'win32') return
  try {
    syncFile(folder)
  } catch (error) {
    if (codeOf(error) !== 'EINVAL') throw error
  }
}

/**
 * Makes three kinds of names durable: those in a folder, the folder's own, and those of the parent folders that were
 * created for it. `firstMade` is the topmost of these.
 */
export function syncEntries(folder: string, firstMade: string | undefined): void {
  const top = path.resolve(firstMade ?? folder)
  let below = path.resolve(folder)
  syncFolder(below)
  for (;;) {
    try {
      syncFolder(path.dirname(below))
    } catch (error) {
      // This process may not read the parent folder, so it did not create it either: nothing needs a flush there.
      if (codeOf(error) !== 'EACCES' && codeOf(error) !== 'EPERM') throw error
    }
    if (below === top || path.dirname(below) === below) return
    below = path.dirname(below)
  }
}

/** Removes a folder that held a copy. If the disk refuses, the next use of the folder removes the rest. */
export function removeFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch {
    // The operation that made the copy reports its own result.
  }
}
