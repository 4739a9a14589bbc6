import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** A temporary folder for one store, and its disk usage. */
export class Folder {
  readonly path = mkdtempSync(path.join(tmpdir(), 'carillon-bench-store-'))

  /** The allocated disk space, not the file sizes: a file may have holes. */
  diskBytes(): number {
    return readdirSync(this.path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).blocks * 512, 0)
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}
