import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Candidate, ProgramCandidate, Task } from './bench.js'

const run = promisify(execFile)

const MAX_RUN_MS = 15 * 60_000
const MAX_OUTPUT_BYTES = 1 << 20
const NODE_FLAGS = ['--expose-gc', '--max-old-space-size=12000']

/** A candidate's command, or why it cannot run here. A missing compiler is not a failure. */
type Readied = { readonly command: Command } | { readonly absent: string }

/** A candidate as a process. Each run is a new process, so candidates do not share a heap or compiled code. */
export interface Command {
  readonly file: string
  readonly args: readonly string[]
}

/** A temporary folder for compiled programs. */
export class Workshop {
  readonly #folder: string
  readonly #programs = new Map<string, Promise<Readied>>()

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async open(): Promise<Workshop> {
    return new Workshop(await mkdtemp(path.join(tmpdir(), 'carillon-bench-')))
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true })
  }

  async ready(candidate: Candidate, { n, seed }: Task): Promise<Readied> {
    if (candidate.absent !== undefined) return { absent: candidate.absent }
    if (candidate.mostN !== undefined && n > candidate.mostN) {
      return { absent: `skipped: it holds at most ${candidate.mostN} timers` }
    }
    const tail = [String(n), String(seed)]
    if ('measure' in candidate) {
      const entry = process.argv[1]!
      return {
        command: { file: process.execPath, args: [...NODE_FLAGS, entry, 'measure', candidate.name, ...tail] },
      }
    }
    const program = await this.#compile(candidate)
    if ('absent' in program) return program
    return { command: { file: program.command.file, args: [...candidate.args, ...tail] } }
  }

  // Two candidates may use the same program with different arguments.
  #compile(candidate: ProgramCandidate): Promise<Readied> {
    const known = this.#programs.get(candidate.source)
    if (known !== undefined) return known
    const made = this.#make(candidate)
    this.#programs.set(candidate.source, made)
    return made
  }

  async #make({ language, source }: ProgramCandidate): Promise<Readied> {
    const file = path.join(this.#folder, source.replaceAll(/\W/g, '-'))
    const root = path.dirname(fileURLToPath(import.meta.resolve('carillon/package.json')))
    const from = path.join(root, 'bench', source)
    const compiler =
      language === 'go'
        ? { name: 'go', args: ['build', '-o', file, '.'], cwd: from }
        : { name: 'cc', args: ['-O3', '-march=native', '-std=c11', '-o', file, from], cwd: root }
    try {
      await run(compiler.name, compiler.args, { cwd: compiler.cwd })
      return { command: { file, args: [] } }
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return { absent: `skipped: '${compiler.name}' is not installed` }
      throw error
    }
  }
}

/** Runs a command and returns its output. Rejects with the end of its standard error. */
export async function outputOf({ file, args }: Command, longestMs = MAX_RUN_MS): Promise<string> {
  try {
    const { stdout } = await run(file, args, { timeout: longestMs, maxBuffer: MAX_OUTPUT_BYTES })
    return stdout
  } catch (error) {
    const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : ''
    throw new Error(stderr === '' ? String(error) : stderr.slice(-2000), { cause: error })
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
