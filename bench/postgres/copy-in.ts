import { Buffer } from 'node:buffer'
import type { SetOperation } from 'carillon/store'
import type { Connection, Submittable } from 'pg'

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const FIELDS = 14
const NUMBERS = 7
const EMPTY_TEXT_ARRAY = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25])

/** Methods that the driver calls during a copy, but does not declare. */
interface CopyConnection {
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

/** One `copy … from stdin` with rows in PostgreSQL's binary format. */
export class CopyIn implements Submittable {
  readonly done: Promise<void>
  readonly #text: string
  readonly #sets: readonly SetOperation[]
  #resolve!: () => void
  #reject!: (error: Error) => void

  constructor(text: string, sets: readonly SetOperation[]) {
    this.#text = text
    this.#sets = sets
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  submit = (connection: Connection): void => {
    ;(connection as unknown as CopyConnection).query(this.#text)
  }

  handleCopyInResponse(connection: CopyConnection): void {
    connection.sendCopyFromChunk(encoded(this.#sets))
    connection.endCopyFrom()
  }

  handleError(error: Error): void {
    this.#reject(error)
  }

  handleReadyForQuery(): void {
    this.#resolve()
  }

  handleRowDescription(): void {}

  handleDataRow(): void {}

  handleCommandComplete(): void {}
}

function encoded(sets: readonly SetOperation[]): Buffer {
  const most = sets.reduce((sum, set) => sum + 260 + 3 * set.key.length + set.payload.length, 64)
  const buffer = Buffer.allocUnsafe(most)
  let at = SIGNATURE.copy(buffer)
  const bytes = (value: Uint8Array): void => {
    at = buffer.writeInt32BE(value.length, at)
    buffer.set(value, at)
    at += value.length
  }
  const text = (value: string): void => {
    const length = buffer.write(value, at + 4)
    buffer.writeInt32BE(length, at)
    at += 4 + length
  }
  for (const set of sets) {
    at = buffer.writeInt16BE(FIELDS, at)
    at = buffer.writeInt32BE(4, at)
    at = buffer.writeInt32BE(0, at)
    const { position, identity, createdAt, dueAt, attempt, occurrence } = set
    const numbers = [position, identity, identity, createdAt, dueAt, attempt, occurrence]
    for (let i = 0; i < NUMBERS; i++) {
      const number = numbers[i]!
      const high = Math.floor(number / 2 ** 32)
      at = buffer.writeInt32BE(8, at)
      at = buffer.writeInt32BE(high, at)
      at = buffer.writeUInt32BE(number - high * 2 ** 32, at)
    }
    text(set.namespace)
    text(set.kind)
    text(set.key)
    bytes(EMPTY_TEXT_ARRAY)
    text(set.details)
    bytes(set.payload)
  }
  at = buffer.writeInt16BE(-1, at)
  return buffer.subarray(0, at)
}
