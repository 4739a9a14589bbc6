import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** How a process ended. */
export interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The package as npm would publish it, and an empty project to install it into. */
export class PackedProject {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'carillon-package-'))
  readonly tarball: string
  readonly files: readonly string[]

  constructor() {
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', this.folder]
    const packed = execFileSync('npm', args, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [{ filename, files }] = JSON.parse(packed) as [{ filename: string; files: { path: string }[] }]
    this.tarball = `./${filename}`
    this.files = files.map((file) => file.path)
    this.write('package.json', JSON.stringify({ private: true, type: 'module' }))
  }

  /** The path of a file in the project. */
  at(file: string): string {
    return path.join(this.folder, file)
  }

  write(file: string, text: string): void {
    writeFileSync(this.at(file), text)
  }

  /** Installs packages. An unsuitable version of Node.js is an error, as in projects that are strict about it. */
  install(...packages: string[]): Ended {
    return this.run('npm', ['install', '--engine-strict', '--no-audit', '--no-fund', ...packages])
  }

  /** Runs a program of the project with Node.js. */
  node(...args: string[]): Ended {
    return this.run(process.execPath, args)
  }

  /** Runs code as an ES module of the project. */
  evaluate(code: string): Ended {
    return this.node('--input-type=module', '-e', code)
  }

  run(command: string, args: readonly string[]): Ended {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: this.folder, encoding: 'utf8' })
    return { status, stdout, stderr }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}
