import { writeSync } from 'node:fs'

const pause = new Int32Array(new SharedArrayBuffer(4))

/** Writes a line to the parent process, completely and synchronously: nothing else runs here before it is sent. */
export function writeLine(line: object): void {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
  for (let written = 0; written < bytes.length;) {
    try {
      written += writeSync(1, bytes, written)
    } catch (error) {
      // The pipe is full, because the parent reads slowly.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
      Atomics.wait(pause, 0, 0, 1)
    }
  }
}
