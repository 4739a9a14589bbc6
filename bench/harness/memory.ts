import process from 'node:process'

/** What a process holds after a full collection: in V8's heap and buffers, and in memory by the system's word. */
export class Memory {
  readonly heldBytes: number
  readonly residentBytes: number

  constructor() {
    // A second one frees what finalisers of the first let go.
    collect()
    collect()
    const { heapUsed, external, rss } = process.memoryUsage()
    this.heldBytes = heapUsed + external
    this.residentBytes = rss
  }

  since(before: Memory): { readonly heldBytes: number; readonly residentBytes: number } {
    return {
      heldBytes: this.heldBytes - before.heldBytes,
      residentBytes: Math.max(0, this.residentBytes - before.residentBytes),
    }
  }
}

// What other threads have left to sweep after a collection, they have swept by then.
const SWEPT_MS = 50

/**
 * Leaves no garbage of one measurement to the next, nor the end of its own collection: V8 sweeps in other threads and
 * ends that in the next young collection, of whoever comes to one first.
 */
export function collect(): void {
  if (globalThis.gc === undefined) throw new Error('start Node with --expose-gc')
  globalThis.gc()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SWEPT_MS)
  globalThis.gc({ type: 'minor' })
}
