import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach } from 'vitest'

const program = fileURLToPath(
  new URL('../../../.carillon/run/test/store/postgres/chaos/child.js', import.meta.url),
)
const children: ChildProcess[] = []

/** Kills the children of a test after it. Call it once in a file. */
export function useChildren(): void {
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
  })
}

/** Starts a process that sets `count` timers and handles due ones. Its output goes to `lines`. */
export function startChild(store: string, name: string, count: number, lines: string[]): ChildProcess {
  const started = spawn(process.execPath, [program, store, name, String(count)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(started)
  createInterface({ input: started.stdout }).on('line', (line) => lines.push(line))
  return started
}

export function isAcked(line: string): boolean {
  return line.startsWith('acked ')
}

export function isFired(line: string): boolean {
  return line.startsWith('fired ')
}

/** The key in a line of `acked` or `fired`. */
export function keyOf(line: string): string {
  return line.split(' ')[1]!
}

/** Whether the line reports a firing before its due time. */
export function isEarly(line: string): boolean {
  return isFired(line) && Number(line.split(' ')[2]) < 0
}
