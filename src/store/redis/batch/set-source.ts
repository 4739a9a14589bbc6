import { copyBytes } from '../../bytes/copy-bytes.js'
import type { SetColumnsWrite } from '../../set-columns.js'
import type { SetOperation } from '../../store.js'
import { finishHead, HEAD_BYTES, maxRowBytes, sharedHead, writeHead, writeRest } from '../codec/row-codec.js'
import type { ByteView } from '../codec/byte-view.js'
import { writeString } from '../../bytes/write-string.js'

/** Plain sets that can be written as rows, in either shape in which a call brings them. */
export interface SetSource {
  readonly length: number
  /** Upper bounds for the bytes of all rows, and of all names. */
  readonly rowBytes: number
  readonly nameBytes: number
  position(index: number): number
  identity(index: number): number
  /** The id of the request that the set answers. Undefined for none. */
  request(index: number): string | undefined
  /** Writes a row up to the end of its name. Answers where that is. */
  writeHead(buffer: ByteView, at: number, index: number): number
  /** Writes the rest of a row, after its name. Answers where the row ends. */
  writeRest(buffer: ByteView, at: number, nameEnd: number, index: number): number
}

/** Sets that come as operations. */
export class OperationSource implements SetSource {
  readonly rowBytes: number
  readonly nameBytes: number
  readonly #sets: readonly SetOperation[]

  constructor(sets: readonly SetOperation[]) {
    this.#sets = sets
    let rowBytes = 0
    let nameBytes = 0
    for (const set of sets) {
      rowBytes += maxRowBytes(set)
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

  writeHead(buffer: ByteView, at: number, index: number): number {
    return writeHead(buffer, at, this.#sets[index]!)
  }

  writeRest(buffer: ByteView, at: number, nameEnd: number, index: number): number {
    return writeRest(buffer, at, nameEnd, this.#sets[index]!)
  }
}

/** Sets that come as columns. */
export class ColumnSource implements SetSource {
  readonly #write: SetColumnsWrite
  /** The head and the name up to the key: all rows begin with these bytes. */
  readonly #prefix: DataView
  readonly #payloads: DataView

  constructor(write: SetColumnsWrite) {
    this.#write = write
    this.#prefix = sharedHead(write.sets)
    this.#payloads = write.sets.payloads.dataView()
  }

  get length(): number {
    return this.#write.length
  }

  get rowBytes(): number {
    return this.length * this.#prefix.byteLength + 3 * this.#write.keyUnits + this.#write.payloadBytes
  }

  get nameBytes(): number {
    return this.length * (this.#prefix.byteLength - HEAD_BYTES) + 3 * this.#write.keyUnits
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

  writeHead({ bytes, view }: ByteView, at: number, index: number): number {
    const { sets, indexes } = this.#write
    const set = indexes[index]!
    const keyAt = copyBytes(this.#prefix, 0, this.#prefix.byteLength, view, at)
    const end = writeString(bytes, keyAt, sets.keys[set]!)
    finishHead(view, at, end, sets.dueAts[set]!, sets.identities[set]!)
    return end
  }

  writeRest({ view }: ByteView, _at: number, nameEnd: number, index: number): number {
    const { sets, indexes } = this.#write
    const set = indexes[index]!
    return copyBytes(this.#payloads, sets.payloads.from(set), sets.payloads.end(set), view, nameEnd)
  }
}
