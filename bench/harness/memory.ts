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

/** Leaves no garbage of one measurement to the next. */
export function collect(): void {
  if (globalThis.gc === undefined) throw new Error('start Node with --expose-gc')
  globalThis.gc()
}
