import { rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { spaceDefaults } from '../defaults.js'
import type { FileSystem } from './file-system.js'

export const RESERVE_FILE = 'reserve'

type Space = Pick<ReturnType<FileSystem>, 'freeBytes' | 'totalBytes'>

const { lowBytes, maxReserveBytes, reservePart, spareBytes } = spaceDefaults

/**
 * The space that is kept for leases, cancels and settlements, so that they work on a full disk. Once the disk is nearly
 * full, a file of that size lies beside the data. While less than the reserve is free, what adds timers is refused. If
 * something else takes the whole disk, the file is removed, and commits have its space.
 *
 * Proven by test/server/outages/full-store.test.ts.
 */
export class Reserve {
  readonly #folder: string
  readonly #fileSystem: FileSystem
  #isMade: boolean
  // What was free at the last look.
  #freeBytes = Infinity

  constructor(folder: string, fileSystem: FileSystem) {
    this.#folder = folder
    this.#fileSystem = fileSystem
    this.#isMade = statSync(this.#file, { throwIfNoEntry: false }) !== undefined
  }

  get #file(): string {
    return path.join(this.#folder, RESERVE_FILE)
  }

  /** Whether timers may be added. Looks at the disk again only if it was nearly full before. */
  get hasRoomToGrow(): boolean {
    if (this.#freeBytes >= lowBytes) return true
    const { freeBytes, totalBytes = Infinity } = this.#look()
    const reserveBytes = Math.min(maxReserveBytes, totalBytes * reservePart)
    if (freeBytes < reserveBytes + spareBytes) return false
    return this.#isMade || this.#make(reserveBytes, freeBytes)
  }

  /** Whether a commit of so many bytes fits. If it does not, the reserve is given up for it. */
  hasRoomFor(bytes: number): boolean {
    const { freeBytes } = this.#look()
    // Made while there is space, not when it is needed.
    if (freeBytes < lowBytes && !this.#isMade) void this.hasRoomToGrow
    if (freeBytes >= 2 * bytes + spareBytes) return true
    if (!this.#isMade) return false
    rmSync(this.#file, { force: true })
    this.#isMade = false
    return this.#look().freeBytes >= 2 * bytes + spareBytes
  }

  #look(): Space {
    const found = this.#readSpace()
    this.#freeBytes = found.freeBytes
    return found
  }

  /** If the folder cannot be read, it counts as not full: the commit itself then fails with the reason. */
  #readSpace(): Space {
    try {
      return this.#fileSystem(this.#folder)
    } catch {
      return { freeBytes: Infinity }
    }
  }

  /** Whether there is a reserve afterwards. */
  #make(reserveBytes: number, freeBytes: number): boolean {
    // It must not take what the next commits need.
    if (freeBytes < 2 * reserveBytes + spareBytes) return false
    try {
      // With content: a file without blocks reserves nothing.
      writeFileSync(this.#file, Buffer.alloc(reserveBytes), { mode: 0o600 })
      this.#isMade = true
    } catch {
      rmSync(this.#file, { force: true })
    }
    this.#look()
    return this.#isMade
  }
}
