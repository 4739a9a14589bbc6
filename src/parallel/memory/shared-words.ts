/**
 * Memory that threads share. All code that several threads run on the same record goes through these methods, so that
 * the model check (test/parallel/model-check.ts) can put its own steps in their place.
 */
export class SharedWords {
  readonly #words: Int32Array
  readonly #doubles: Float64Array

  constructor(buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer)
    this.#doubles = new Float64Array(buffer)
  }

  load(at: number): number {
    return Atomics.load(this.#words, at)
  }

  store(at: number, value: number): void {
    Atomics.store(this.#words, at, value)
  }

  /** Stores `value` if the word is `expected`. Answers whether it was. */
  replace(at: number, expected: number, value: number): boolean {
    return Atomics.compareExchange(this.#words, at, expected, value) === expected
  }

  /** Reads a field that only the owner of the record writes. */
  read(at: number): number {
    return this.#words[at]!
  }

  /** Writes a field as the owner of the record. */
  write(at: number, value: number): void {
    this.#words[at] = value
  }

  /** `at` counts words and is even. */
  readDouble(at: number): number {
    return this.#doubles[at >> 1]!
  }

  writeDouble(at: number, value: number): void {
    this.#doubles[at >> 1] = value
  }
}

/** What the records need of their memory. */
export type RecordMemory = Pick<
  SharedWords,
  'load' | 'store' | 'replace' | 'read' | 'write' | 'readDouble' | 'writeDouble'
>
