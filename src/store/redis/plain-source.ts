import { copyBytes } from '../copy-bytes.js'
import type { PlainWrite } from '../plain-sets.js'
import type { SetOperation } from '../store.js'
import { finishHead, HEAD_BYTES, mostBytesOf, plainHead, writeHead, writeRest } from './row-codec.js'
import type { Sheet } from './sheet.js'
import { writeText } from '../write-text.js'

/** Plain sets as rows to be written, wherever they come from. */
export interface PlainSource {
  readonly length: number
  /** The most bytes that all rows can take, and all names. */
  readonly rowBytes: number
  readonly nameBytes: number
  position(index: number): number
  identity(index: number): number
  /** The id of the request that it answers; undefined for none. */
  request(index: number): string | undefined
  /** Writes a row, and answers where its name ends. */
  writeHead(sheet: Sheet, at: number, index: number): number
  /** Writes what comes after its name, and answers where that ends. */
  writeRest(sheet: Sheet, at: number, nameEnd: number, index: number): number
}

/** Those of calls that came one by one. */
export class OperationSource implements PlainSource {
  readonly rowBytes: number
  readonly nameBytes: number
  readonly #sets: readonly SetOperation[]

  constructor(sets: readonly SetOperation[]) {
    this.#sets = sets
    let rowBytes = 0
    let nameBytes = 0
    for (const set of sets) {
      rowBytes += mostBytesOf(set)
      nameBytes += 3 * (set.namespace.length + set.kind.length + set.key.length) + 2
    }
    this.rowBytes = rowBytes
    this.nameBytes = nameBytes
  }

  get length(): number {
    return this.#sets.length
  }

  position(index: number): number {
    return this.#sets[index]!.position
  }

  identity(index: number): number {
    return this.#sets[index]!.identity
  }

  request(index: number): string | undefined {
    return this.#sets[index]!.request
  }

  writeHead(sheet: Sheet, at: number, index: number): number {
    return writeHead(sheet, at, this.#sets[index]!)
  }

  writeRest(sheet: Sheet, at: number, nameEnd: number, index: number): number {
    return writeRest(sheet, at, nameEnd, this.#sets[index]!)
  }
}

/** Those of a call that brought them in columns. */
export class ColumnSource implements PlainSource {
  readonly #write: PlainWrite
  /** A head with a name up to the key, as all begin with it. */
  readonly #begin: DataView
  readonly #payloads: DataView

  constructor(write: PlainWrite) {
    this.#write = write
    this.#begin = plainHead(write.sets)
    this.#payloads = write.sets.payloads.dataView()
  }

  get length(): number {
    return this.#write.length
  }

  get rowBytes(): number {
    return this.length * this.#begin.byteLength + 3 * this.#write.keyUnits + this.#write.payloadBytes
  }

  get nameBytes(): number {
    return this.length * (this.#begin.byteLength - HEAD_BYTES) + 3 * this.#write.keyUnits
  }

  position(index: number): number {
    return this.#write.positions[index]!
  }

  identity(index: number): number {
    const { sets, indexes } = this.#write
    return sets.identities[indexes[index]!]!
  }

  request(): undefined {
    return undefined
  }

  writeHead({ bytes, view }: Sheet, at: number, index: number): number {
    const { sets, indexes } = this.#write
    const set = indexes[index]!
    const keyAt = copyBytes(this.#begin, 0, this.#begin.byteLength, view, at)
    const end = writeText(bytes, keyAt, sets.keys[set]!)
    finishHead(view, at, end, sets.dueAts[set]!, sets.identities[set]!)
    return end
  }

  writeRest({ view }: Sheet, _at: number, nameEnd: number, index: number): number {
    const { sets, indexes } = this.#write
    const set = indexes[index]!
    return copyBytes(this.#payloads, sets.payloads.from(set), sets.payloads.end(set), view, nameEnd)
  }
}
