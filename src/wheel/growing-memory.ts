import { LimitError } from '../error/index.js'

/**
 * Zeroed memory that grows without a stall. Small, it is an ordinary buffer that doubles by copying; from a
 * megabyte on it moves once into a reserved range of addresses, which costs nothing until touched and grows
 * in place however large it is. Views of it go stale at `grow`: take a new one of the buffer it answers.
 */
export class GrowingMemory {
  readonly #maxBytes: number
  #reserved: Reservation | undefined
  #buffer: ArrayBufferLike = new ArrayBuffer(0)

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get byteLength(): number {
    return this.#buffer.byteLength
  }

  /** Makes room for at least `bytes`, with some to spare; what was there stays. */
  grow(bytes: number): ArrayBufferLike {
    const size = this.#buffer.byteLength
    if (bytes <= size) return this.#buffer
    if (bytes > this.#maxBytes) {
      throw new LimitError(
        'wheel-full',
        `this wheel is full: it may hold ${this.#maxBytes} bytes of a kind, not ${bytes}`,
      )
    }
    const wanted = Math.min(
      Math.max(bytes, bytes < RESERVE_FROM ? size * 2 : size + size / 16),
      this.#maxBytes,
    )
    if (this.#reserved === undefined && wanted >= RESERVE_FROM) this.#reserved = reserve(this.#maxBytes)
    if (this.#reserved === undefined) return this.#copyInto(new ArrayBuffer(wordAligned(wanted)))
    const first = this.#reserved.buffer.byteLength === 0
    const pages = Math.ceil(Math.max(wanted, size + SMALLEST_STEP) / PAGE)
    this.#reserved.grow(
      Math.min(pages, Math.ceil(this.#maxBytes / PAGE)) - this.#reserved.buffer.byteLength / PAGE,
    )
    return first ? this.#copyInto(this.#reserved.buffer) : (this.#buffer = this.#reserved.buffer)
  }

  /**
   * As `grow`, and the machine gives the memory now: the first touch of each of its pages costs microseconds, which
   * whoever reserves wants to spend beforehand.
   */
  reserve(bytes: number): ArrayBufferLike {
    const from = this.#buffer.byteLength
    const words = new Int32Array(this.grow(bytes))
    for (let at = from >>> 2; at < words.length; at += MACHINE_PAGE_WORDS) words[at] = 0
    return this.#buffer
  }

  #copyInto(buffer: ArrayBufferLike): ArrayBufferLike {
    new Uint8Array(buffer).set(new Uint8Array(this.#buffer))
    return (this.#buffer = buffer)
  }
}

const PAGE = 65_536
const MACHINE_PAGE_WORDS = 1024
const RESERVE_FROM = 1 << 20
const SMALLEST_STEP = 1 << 20

/**
 * The one way to reserve addresses in JavaScript is a WebAssembly memory. It must be a shared one: growing a
 * private one detaches its old buffer, and V8 then checks every access to any typed array for the rest of
 * the process. Where there is none to be had (no WebAssembly, a limit on addresses) we go on copying.
 */
interface Reservation {
  readonly buffer: SharedArrayBuffer
  grow(pages: number): number
}

interface WebAssemblyHost {
  readonly WebAssembly?: {
    readonly Memory: new (limits: { initial: number; maximum: number; shared: true }) => Reservation
  }
}

function reserve(maxBytes: number): Reservation | undefined {
  const { WebAssembly } = globalThis as WebAssemblyHost
  if (WebAssembly === undefined) return undefined
  try {
    return new WebAssembly.Memory({ initial: 0, maximum: Math.ceil(maxBytes / PAGE), shared: true })
  } catch {
    return undefined
  }
}

function wordAligned(bytes: number): number {
  return Math.ceil(bytes / 8) * 8
}
