import { LimitError } from '../error/index.js'

/**
 * Zeroed memory that grows without a stall. A small one is an ordinary buffer that doubles by copying. At a megabyte it
 * moves once into a reserved range of addresses, which costs nothing until it is touched, and from then on grows in
 * place. Views go stale at `grow`: create new ones on the buffer that it returns.
 * Proven by test/wheel/growing-memory.test.ts.
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

  /** Makes room for at least `bytes`, with some to spare. The contents stay. */
  grow(bytes: number): ArrayBufferLike {
    const size = this.#buffer.byteLength
    if (bytes <= size) return this.#buffer
    if (bytes > this.#maxBytes) {
      throw new LimitError(
        'wheel-full',
        `this wheel is full: one of its tables would need ${bytes} bytes, and the limit is ${this.#maxBytes}`,
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
   * Like `grow`, but it also touches every page. The first touch of a page costs microseconds: a caller that reserves
   * wants to spend them in advance.
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
 * A WebAssembly memory is the only way to reserve addresses in JavaScript. It must be shared: growing a private one
 * detaches its old buffer, and V8 then checks every access to any typed array for the rest of the process. If none can
 * be created (no WebAssembly, a limit on addresses), memory grows by copying.
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
  const { WebAssembly } = globalThis as unknown as WebAssemblyHost
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
