import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import process from 'node:process'

/** Whether this system shows which process has which socket. */
export const tellsSockets = process.platform === 'linux'

/**
 * Finds the process at the other end of a connection on this machine by asking the kernel. So the processes under
 * test need not name themselves.
 */
export class SocketOwner {
  readonly #pids: () => readonly number[]
  readonly #pidByInode = new Map<string, number>()

  /** `pids`: the processes to look at. */
  constructor(pids: () => readonly number[]) {
    this.#pids = pids
  }

  /** The process whose socket has the port `port` and is connected to the port `to`; undefined if it is gone. */
  of(port: number, to: number): number | undefined {
    const inode = inodeOf(port, to)
    if (inode === undefined) return undefined
    if (!this.#pidByInode.has(inode)) this.#look()
    return this.#pidByInode.get(inode)
  }

  #look(): void {
    this.#pidByInode.clear()
    for (const pid of this.#pids()) {
      for (const inode of socketsOf(pid)) this.#pidByInode.set(inode, pid)
    }
  }
}

function inodeOf(port: number, to: number): string | undefined {
  const wanted = [port, to].map((each) => `:${each.toString(16).toUpperCase().padStart(4, '0')}`)
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const [, local, remote, , , , , , , inode] = line.trim().split(/\s+/)
    if (local?.endsWith(wanted[0]!) === true && remote?.endsWith(wanted[1]!) === true) return inode
  }
  return undefined
}

function socketsOf(pid: number): string[] {
  try {
    const folder = `/proc/${pid}/fd`
    return readdirSync(folder).flatMap((name) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`${folder}/${name}`))?.[1] ?? []
      } catch {
        // The socket was closed meanwhile.
        return []
      }
    })
  } catch {
    // The process is gone.
    return []
  }
}
