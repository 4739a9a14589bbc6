import process from 'node:process'

/** The memory of this process after a full collection: V8's heap and buffers, and the resident set. */
export class Memory {
  readonly heldBytes: number
  readonly residentBytes: number

  constructor() {
    // The second collection frees what finalizers released after the first.
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

// Other threads have finished their sweeping after this time.
const SWEPT_MS = 50

/**
 * Collects garbage, so that a measurement does not pay for the one before it. It also completes its own collection: V8
 * sweeps in other threads and finishes in the next young collection, which would otherwise be the candidate's.
 */
export function collect(): void {
  if (globalThis.gc === undefined) throw new Error('start Node with --expose-gc')
  globalThis.gc()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SWEPT_MS)
  globalThis.gc({ type: 'minor' })
}
