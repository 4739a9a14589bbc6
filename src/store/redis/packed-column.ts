import { Packer } from './packer.js'

const ARRAY = 0xdd
const DOUBLE = 0xcb
const SMALL_TEXT = 0xa0
const BLOCK = 0xdb
const SHORT = 0xcd

/** Values of one kind after one another, as MessagePack: the scripts unpack a whole column in one go. */
export class PackedColumn {
  readonly #packer: Packer

  /** `bytes` is about what a value takes. */
  constructor(length: number, bytes: number) {
    this.#packer = new Packer(length * bytes + 16)
    this.#packer.byte(ARRAY).intBigEndian(length)
  }

  /** A whole number from 0 to 65,535. */
  addSmall(value: number): void {
    if (value < 128) this.#packer.byte(value)
    else
      this.#packer
        .byte(SHORT)
        .byte(value >>> 8)
        .byte(value & 255)
  }

  addDouble(value: number): void {
    this.#packer.byte(DOUBLE).doubleBigEndian(value)
  }

  /** The eight bytes of a number, little-endian, as a text. */
  addBytesOfDouble(value: number): void {
    this.#packer.byte(SMALL_TEXT + 8).double(value)
  }

  addText(value: string): void {
    if (value === '') this.#packer.byte(SMALL_TEXT)
    else this.addBlock((packer) => void packer.text(value))
  }

  /** Whatever `write` writes, as one text. */
  addBlock(write: (packer: Packer) => void): void {
    const packer = this.#packer
    packer.byte(BLOCK).blockAfterIntBigEndian(() => write(packer))
  }

  done(): Buffer {
    return this.#packer.done()
  }
}
