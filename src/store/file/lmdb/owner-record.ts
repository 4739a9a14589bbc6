import { readFileSync, readlinkSync } from 'node:fs'
import { randomInt } from 'node:crypto'
import { hostname } from 'node:os'
import { StoreError } from '../../../error/index.js'
import { COPY_MARK, type Environment } from './environment.js'

/** Names a process. A later process with the same pid has another mark. */
interface ProcessMark {
  readonly pid: number
  /** Which file it opened: a copy of the file is not open. */
  readonly file: string
  /** The machine's boot id; empty where the system has none. */
  readonly boot: string
  /** When the process started, in ticks since boot; empty where unknown. */
  readonly started: string
  /** The pid namespace. Processes of another one, such as a container, are invisible from here. */
  readonly space: string
  readonly host: string
}

/**
 * Lets one process at a time open a folder. Taking the folder checks and replaces the owner mark in one write
 * transaction. A mark whose process has ended, by pid, start time and boot id, does not count. If that process is
 * invisible from here (another container), the newcomer takes over: the next commit of the old owner finds a changed
 * session and fails.
 *
 * Proven by test/store/file/folder.test.ts.
 */
export class OwnerRecord {
  /** The last owner did not release the folder and is known to be gone, or this is a copy: its shard leases are over. */
  readonly isAfterCrash: boolean
  readonly #environment: Environment
  readonly #session: number

  private constructor(environment: Environment, session: number, isAfterCrash: boolean) {
    this.#environment = environment
    this.#session = session
    this.isAfterCrash = isAfterCrash
  }

  /** Takes the folder. Runs inside a write transaction. */
  static take(environment: Environment): OwnerRecord {
    const self = ownMark(environment.fileId())
    const text = environment.getMeta('owner')
    const isCopy = text === COPY_MARK
    const owner = text === undefined || isCopy ? undefined : (JSON.parse(text) as ProcessMark)
    if (owner !== undefined && !environment.isOwnerClosed() && isRunning(owner, self)) {
      throw new StoreError(
        'store-in-use',
        `${environment.folder} is open in process ${owner.pid} on ${owner.host}`,
      )
    }
    const session = randomInt(1, 2 ** 47)
    environment.putOwner(JSON.stringify(self), session)
    const isGone = isCopy || (owner !== undefined && isVisible(owner, self))
    return new OwnerRecord(environment, session, isGone)
  }

  /** Writes the mark again after a compaction, because it names the file and the file was replaced. */
  rewrite(): void {
    const environment = this.#environment
    const mark = ownMark(environment.fileId())
    environment.transaction(() => environment.putOwner(JSON.stringify(mark), this.#session))
  }

  release(): void {
    this.#environment.releaseOwner()
  }
}

/** The process that has the folder open; undefined when no process that is visible from here has it. */
export function holderOf(environment: Environment): string | undefined {
  const text = environment.getMeta('owner')
  if (text === undefined || text === COPY_MARK) return undefined
  const owner = JSON.parse(text) as ProcessMark
  const isHeld = isRunning(owner, ownMark(environment.fileId()))
  return isHeld ? `process ${owner.pid} on ${owner.host}` : undefined
}

function ownMark(file: string): ProcessMark {
  return {
    file,
    pid: process.pid,
    boot: readTrimmed('/proc/sys/kernel/random/boot_id'),
    started: startTimeOf(process.pid),
    space: pidNamespace(),
    host: hostname(),
  }
}

/** Whether this process can see if the owner still runs. */
function isVisible(owner: ProcessMark, self: ProcessMark): boolean {
  return owner.file === self.file && owner.boot === self.boot && owner.space === self.space
}

function isRunning(owner: ProcessMark, self: ProcessMark): boolean {
  if (!isVisible(owner, self)) return false
  if (owner.pid === self.pid && owner.started === self.started) return true
  if (owner.started !== '' && startTimeOf(owner.pid) !== owner.started) return false
  try {
    process.kill(owner.pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Field 22 of /proc/pid/stat. The name before it may contain anything, but ends with the last parenthesis. */
function startTimeOf(pid: number): string {
  const text = readTrimmed(`/proc/${pid}/stat`)
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  // A zombie has ended: it counts as not running.
  return fields[0] === 'Z' || fields[0] === 'X' ? '' : (fields[19] ?? '')
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}

function readTrimmed(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}
