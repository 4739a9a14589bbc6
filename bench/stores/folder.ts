import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** A folder of its own for one store, and what that takes of the disk. */
export class Folder {
  readonly path = mkdtempSync(path.join(tmpdir(), 'carillon-bench-store-'))

  /** What the file system has given, not what the files say: a file may have holes. */
  diskBytes(): number {
    return readdirSync(this.path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).blocks * 512, 0)
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}
