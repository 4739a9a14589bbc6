const UNIT_BITS = 4
const SEGMENT_BITS = 16
const SEGMENT_BYTES = 1 << SEGMENT_BITS
const SEGMENT_UNITS = SEGMENT_BYTES >>> UNIT_BITS
const SEGMENT_MASK = SEGMENT_UNITS - 1
const SEGMENT_SHIFT = SEGMENT_BITS - UNIT_BITS
// Up to 512 bytes every multiple of 16 has its own free list, then every multiple of 128.
const FINE_UNITS = 32
const COARSE_UNITS = 8

/** The most bytes that one block may have. */
export const MAX_BLOCK_BYTES = 8192

/**
 * Blocks of bytes in segments of 64 KB. A freed block is used again for the next one of its size, so a timer needs no
 * object of the garbage collector. A block is named by the number of 16-byte units before it.
 */
export class BytePool {
  #segments: Buffer[] = []
  #next = 0
  #end = 0
  #free: number[][] = []

  /** A block of at least this many bytes. */
  take(bytes: number): number {
    const size = sizeOf(bytes)
    const block = this.#free[size]?.pop()
    if (block !== undefined) return block
    if (this.#next + size > this.#end) {
      this.#next = this.#segments.length << SEGMENT_SHIFT
      this.#end = this.#next + SEGMENT_UNITS
      this.#segments.push(Buffer.allocUnsafeSlow(SEGMENT_BYTES))
    }
    const taken = this.#next
    this.#next += size
    return taken
  }

  /** Frees a block that was taken for this many bytes. */
  free(block: number, bytes: number): void {
    const size = sizeOf(bytes)
    const free = (this.#free[size] ??= [])
    free.push(block)
  }

  /** The segment that a block is in. */
  segmentOf(block: number): Buffer {
    return this.#segments[block >>> SEGMENT_SHIFT]!
  }

  /** Where a block begins in its segment. */
  offsetOf(block: number): number {
    return (block & SEGMENT_MASK) << UNIT_BITS
  }

  /** Gives all memory back. No block may be in use. */
  clear(): void {
    this.#segments = []
    this.#free = []
    this.#next = this.#end = 0
  }
}

/** How many units a block of so many bytes takes. */
function sizeOf(bytes: number): number {
  const units = Math.max(1, (bytes + (1 << UNIT_BITS) - 1) >>> UNIT_BITS)
  return units <= FINE_UNITS ? units : Math.ceil(units / COARSE_UNITS) * COARSE_UNITS
}
