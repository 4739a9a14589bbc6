import { chmodSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import process from 'node:process'

const LIBRARY = 'libfaketimeMT.so.1'

/** The path of libfaketime; undefined if it is not installed. */
const library = findLibrary()

/** Whether tests can move the clocks of processes on this machine. */
export const canFakeClocks = library !== undefined

export const FAKE_CLOCK_ADVICE = 'install libfaketime (Debian: apt-get install libfaketime)'

/**
 * The wall clock of a process and its children. This process can move it while they run. Their monotonic clock stays
 * right. Each move is recorded, so that `maxOffsetBetween` can look back.
 */
export class FakeClock {
  /** The environment variables that the process needs. */
  readonly env: Readonly<Record<string, string>>
  readonly #folder: string
  readonly #file: string
  readonly #moves: { readonly at: number; readonly offsetMs: number }[] = [{ at: -Infinity, offsetMs: 0 }]

  constructor(offsetMs = 0) {
    if (library === undefined) throw new Error(`cannot move clocks on this machine: ${FAKE_CLOCK_ADVICE}`)
    this.#folder = mkdtempSync(path.join(tmpdir(), 'carillon-clock-'))
    // The server of a test may run as another user, which must be able to read the file.
    chmodSync(this.#folder, 0o755)
    this.#file = path.join(this.#folder, 'offset')
    this.env = {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    }
    process.once('exit', this.#remove)
    this.set(offsetMs)
  }

  get offsetMs(): number {
    return this.#moves.at(-1)!.offsetMs
  }

  /** Moves the clock ahead of the machine's by `offsetMs`, or behind it if that is negative. */
  set(offsetMs: number): void {
    const next = `${this.#file}.next`
    const seconds = (offsetMs / 1000).toFixed(3)
    writeFileSync(next, `${offsetMs < 0 ? '' : '+'}${seconds}\n`, { mode: 0o644 })
    // The rename is atomic. A process that reads meanwhile finds the old offset or the new one.
    renameSync(next, this.#file)
    this.#moves.push({ at: machineNow(), offsetMs })
  }

  /** The largest offset between two instants of the machine's monotonic clock. */
  maxOffsetBetween(from: number, until: number): number {
    let most = -Infinity
    for (const [index, { at, offsetMs }] of this.#moves.entries()) {
      const end = this.#moves[index + 1]?.at ?? Infinity
      if (at <= until && end >= from) most = Math.max(most, offsetMs)
    }
    return most
  }

  remove(): void {
    process.removeListener('exit', this.#remove)
    this.#remove()
  }

  readonly #remove = (): void => rmSync(this.#folder, { recursive: true, force: true })
}

function machineNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

function findLibrary(): string | undefined {
  if (process.platform !== 'linux') return undefined
  for (const folder of ['/usr/lib', '/usr/lib64', '/usr/local/lib']) {
    if (!existsSync(folder)) continue
    const paths = ['', ...readdirSync(folder)].map((name) => path.join(folder, name, 'faketime', LIBRARY))
    const found = paths.find((file) => existsSync(file))
    if (found !== undefined) return found
  }
  return undefined
}
