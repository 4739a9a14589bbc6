import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** A file system in memory that something else can fill to the last block. */
export class SmallDisk {
  readonly folder: string
  readonly #parent: string
  readonly #others: string

  private constructor(parent: string, folder: string) {
    this.#parent = parent
    this.folder = folder
    this.#others = path.join(folder, 'others')
  }

  /** Undefined where this process may not mount one. */
  static mount(size: string): SmallDisk | undefined {
    const parent = mkdtempSync(path.join(tmpdir(), 'carillon-full-'))
    // PostgreSQL runs as another user.
    chmodSync(parent, 0o711)
    const folder = path.join(parent, 'disk')
    mkdirSync(folder)
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'ignore' })
    } catch {
      rmSync(parent, { recursive: true, force: true })
      return undefined
    }
    return new SmallDisk(parent, folder)
  }

  fill(): void {
    const { bavail, bsize } = statfsSync(this.folder)
    writeFileSync(this.#others, Buffer.alloc(bavail * bsize))
    const left = statfsSync(this.folder).bavail
    if (left > 0) throw new Error(`the disk has ${left} blocks left`)
  }

  makeSpace(): void {
    rmSync(this.#others)
  }

  unmount(): void {
    execFileSync('umount', ['-l', this.folder])
    rmSync(this.#parent, { recursive: true, force: true })
  }
}
