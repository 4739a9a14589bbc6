import { Packer } from './packer.js'

const ARRAY_32 = 0xdd
const FLOAT_64 = 0xcb
const FIXSTR = 0xa0
const STRING_32 = 0xdb
const UINT_16 = 0xcd

/** An array of values of one type, as MessagePack. A script unpacks it with one call. */
export class PackedColumn {
  readonly #packer: Packer

  /** `bytes` is an estimate for one value. */
  constructor(length: number, bytes: number) {
    this.#packer = new Packer(length * bytes + 16)
    this.#packer.byte(ARRAY_32).intBigEndian(length)
  }

  /** An integer from 0 to 65,535. */
  addUint16(value: number): void {
    if (value < 128) this.#packer.byte(value)
    else
      this.#packer
        .byte(UINT_16)
        .byte(value >>> 8)
        .byte(value & 255)
  }

  addDouble(value: number): void {
    this.#packer.byte(FLOAT_64).doubleBigEndian(value)
  }

  /** The eight bytes of a number, little-endian, as a string. */
  addDoubleBytes(value: number): void {
    this.#packer.byte(FIXSTR + 8).double(value)
  }

  addString(value: string): void {
    if (value === '') this.#packer.byte(FIXSTR)
    else this.addBlock((packer) => void packer.string(value))
  }

  /** The bytes that `write` writes, as one string. */
  addBlock(write: (packer: Packer) => void): void {
    const packer = this.#packer
    packer.byte(STRING_32).blockAfterIntBigEndian(() => write(packer))
  }

  done(): Buffer {
    return this.#packer.done()
  }
}
