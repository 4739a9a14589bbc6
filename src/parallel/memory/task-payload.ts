import { InvalidInputError, LimitError, shown } from '../../error/index.js'
import { type PoolMemory, strideOf } from './pool-memory.js'
import { recordLayout } from './timer-records.js'

/** What a timer carries to its task. It lies in the record, so that it survives the worker. */
export type TaskPayload = number | string | undefined

const { TASK, PAYLOAD, WORDS } = recordLayout
const NUMBER = 1 << 16
const STRING = 2 << 16
const TASK_MASK = 0xffff

/** Writes task and payload into records, and reads them. */
export class TaskPayloads {
  readonly #stride: number
  readonly #limit: number
  readonly #words: Int32Array
  readonly #doubles: Float64Array
  readonly #bytes: Uint8Array
  readonly #encoder = new TextEncoder()
  readonly #decoder = new TextDecoder()

  constructor(memory: PoolMemory) {
    this.#stride = strideOf(memory)
    this.#limit = memory.payloadBytes
    this.#words = new Int32Array(memory.records)
    this.#doubles = new Float64Array(memory.records)
    this.#bytes = new Uint8Array(memory.records)
  }

  /** Refuses a payload that does not fit into a record. */
  check(payload: unknown): void {
    if (payload === undefined || typeof payload === 'number') return
    if (typeof payload !== 'string') {
      throw new InvalidInputError(
        'invalid-payload',
        `a payload must be a number or a string, got ${shown(payload)}: keep other data elsewhere and pass its key`,
      )
    }
    const size = Buffer.byteLength(payload)
    if (size > this.#limit) {
      throw new LimitError(
        'payload-too-large',
        `the payload has ${size} bytes and the pool's payloadBytes is ${this.#limit}: pass a key, or raise payloadBytes`,
      )
    }
  }

  /** Writes a payload that was checked. */
  write(index: number, task: number, payload: TaskPayload): void {
    const at = index * this.#stride
    if (payload === undefined) {
      this.#words[at + TASK] = task
    } else if (typeof payload === 'number') {
      this.#words[at + TASK] = task | NUMBER
      this.#doubles[(at + PAYLOAD) >> 1] = payload
    } else {
      const bytes = this.#encoder.encode(payload)
      this.#bytes.set(bytes, (at + WORDS) * 4)
      this.#words[at + TASK] = task | STRING
      this.#words[at + PAYLOAD] = bytes.length
    }
  }

  taskOf(index: number): number {
    return this.#words[index * this.#stride + TASK]! & TASK_MASK
  }

  payloadOf(index: number): TaskPayload {
    const at = index * this.#stride
    const type = this.#words[at + TASK]! & ~TASK_MASK
    if (type === NUMBER) return this.#doubles[(at + PAYLOAD) >> 1]
    if (type !== STRING) return undefined
    const from = (at + WORDS) * 4
    // The decoder refuses shared memory.
    return this.#decoder.decode(this.#bytes.slice(from, from + this.#words[at + PAYLOAD]!))
  }
}
