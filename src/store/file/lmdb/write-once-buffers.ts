const SLAB_BYTES = 262_144

/**
 * Hands out memory that is written once. LMDB reads a value from this memory until its commit is over, so no piece is
 * handed out twice. A slab is garbage once its last piece is.
 */
export class WriteOnceBuffers {
  #slab: Buffer = Buffer.alloc(0)
  #used = 0

  take(length: number): Buffer {
    if (length > SLAB_BYTES / 4) return Buffer.allocUnsafeSlow(length)
    if (this.#used + length > this.#slab.length) {
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
      this.#used = 0
    }
    const from = this.#used
    this.#used = (from + length + 7) & ~7
    return this.#slab.subarray(from, from + length)
  }
}
