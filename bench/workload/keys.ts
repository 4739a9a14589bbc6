import { Buffer } from 'node:buffer'
import type { Script } from './script.js'

const KEY_LENGTH = 20

/**
 * Keys of 20 characters. They are stored as bytes, and each call creates new strings from them: flat and without a hash, like
 * strings from a network. So no structure can find a key by its identity.
 */
export class Keys {
  readonly #bytes: Buffer
  readonly #count: number

  constructor({ n, random }: Script) {
    this.#count = n
    this.#bytes = Buffer.allocUnsafe(n * KEY_LENGTH)
    for (let i = 0; i < n; i++) {
      this.#bytes.write(`${hex(random.bits())}tmr-${hex(i)}`, i * KEY_LENGTH, 'latin1')
    }
  }

  inOrder(): string[] {
    return Array.from({ length: this.#count }, (_, i) => this.#cut(i))
  }

  shuffled(order: Int32Array): string[] {
    return Array.from({ length: order.length }, (_, i) => this.#cut(order[i]!))
  }

  #cut(i: number): string {
    return this.#bytes.toString('latin1', i * KEY_LENGTH, (i + 1) * KEY_LENGTH)
  }
}

function hex(bits: number): string {
  return bits.toString(16).padStart(8, '0')
}
