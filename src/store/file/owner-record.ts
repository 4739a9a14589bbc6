import { readFileSync, readlinkSync } from 'node:fs'
import { randomInt } from 'node:crypto'
import { hostname } from 'node:os'
import { StoreError } from '../../error/index.js'
import type { Environment } from './environment.js'

/** A process, told apart from a later one of the same number. */
interface ProcessMark {
  readonly pid: number
  /** Which file it opened: a copy of it is not open. */
  readonly file: string
  /** Of the machine's run, where the system tells. */
  readonly boot: string
  /** When the process started, in ticks since boot. */
  readonly started: string
  /** Processes of another space of numbers, such as a container, cannot be seen. */
  readonly space: string
  readonly host: string
}

/**
 * One process at a time has a folder open. The owner's mark is checked and replaced in one write transaction; a
 * mark whose process is gone, by number, start and boot, is no obstacle. Where that cannot be told (another
 * container) the newcomer takes over, and the older owner's next commit finds the session changed and fails.
 */
export class OwnerRecord {
  /** The owner before ended without letting go, and is known to be gone: whatever it had leased is free. */
  readonly isAfterCrash: boolean
  readonly #environment: Environment

  private constructor(environment: Environment, isAfterCrash: boolean) {
    this.#environment = environment
    this.isAfterCrash = isAfterCrash
  }

  /** Takes the folder, inside a write transaction. */
  static take(environment: Environment): OwnerRecord {
    const self = thisProcess(environment.fileMark())
    const text = environment.getMeta('owner')
    const owner = text === undefined ? undefined : (JSON.parse(text) as ProcessMark)
    if (owner !== undefined && isRunning(owner, self)) {
      throw new StoreError(
        'store-in-use',
        `${environment.folder} is open in the process ${owner.pid} on ${owner.host}`,
      )
    }
    const session = randomInt(1, 2 ** 47)
    environment.putOwner(JSON.stringify(self), session)
    // The mark names the file: one that was replaced needs a new mark.
    environment.onReplaced = () => {
      const mark = thisProcess(environment.fileMark())
      environment.exclusively(() => environment.putOwner(JSON.stringify(mark), session))
    }
    return new OwnerRecord(environment, owner !== undefined && isVisible(owner, self))
  }

  release(): void {
    this.#environment.releaseOwner()
  }
}

/** The process that has the folder open; undefined when none does, as far as can be told from here. */
export function holderOf(environment: Environment): string | undefined {
  const text = environment.getMeta('owner')
  if (text === undefined) return undefined
  const owner = JSON.parse(text) as ProcessMark
  const isHeld = isRunning(owner, thisProcess(environment.fileMark()))
  return isHeld ? `the process ${owner.pid} on ${owner.host}` : undefined
}

function thisProcess(file: string): ProcessMark {
  return {
    file,
    pid: process.pid,
    boot: textOf('/proc/sys/kernel/random/boot_id'),
    started: startOf(process.pid),
    space: spaceOf(),
    host: hostname(),
  }
}

/** Whether it can be told from here if the process still runs. */
function isVisible(owner: ProcessMark, self: ProcessMark): boolean {
  return owner.file === self.file && owner.boot === self.boot && owner.space === self.space
}

function isRunning(owner: ProcessMark, self: ProcessMark): boolean {
  if (!isVisible(owner, self)) return false
  if (owner.pid === self.pid && owner.started === self.started) return true
  if (owner.started !== '' && startOf(owner.pid) !== owner.started) return false
  try {
    process.kill(owner.pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Field 22 of /proc/pid/stat; the name before it may contain anything but ends with the last parenthesis. */
function startOf(pid: number): string {
  const text = textOf(`/proc/${pid}/stat`)
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  // A process that has ended but was not yet waited for has started nothing.
  return fields[0] === 'Z' || fields[0] === 'X' ? '' : (fields[19] ?? '')
}

function spaceOf(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}
