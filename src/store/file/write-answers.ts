import type { Place } from '../../timer/index.js'
import type { OperationAnswer, WriteAnswer } from '../store.js'

/**
 * The answers to a write, made when they are looked at. Nearly all say where a new timer stands, which is two
 * numbers; as objects they would outlive the wait for the disk, and the collector would carry them through it.
 */
export class WriteAnswers implements WriteAnswer {
  readonly readLevel: Place
  readonly #size: number
  readonly #positions: Float64Array
  readonly #revisions: Float64Array
  readonly #others = new Map<number, OperationAnswer>()
  #answers: readonly OperationAnswer[] | undefined

  constructor(size: number, readLevel: Place) {
    this.#size = size
    this.readLevel = readLevel
    this.#positions = new Float64Array(size)
    this.#revisions = new Float64Array(size)
  }

  get answers(): readonly OperationAnswer[] {
    return (this.#answers ??= this.#made())
  }

  /** A new timer, which replaced none. */
  stored(index: number, position: number, revision: number): void {
    this.#positions[index] = position
    this.#revisions[index] = revision
  }

  put(index: number, answer: OperationAnswer): void {
    this.#others.set(index, answer)
  }

  #made(): OperationAnswer[] {
    const answers = new Array<OperationAnswer>(this.#size)
    const others = this.#others
    for (let i = 0; i < answers.length; i++) {
      const other = others.size === 0 ? undefined : others.get(i)
      answers[i] = other ?? {
        outcome: 'set',
        place: { position: this.#positions[i]!, revision: this.#revisions[i]! },
        replaced: undefined,
      }
    }
    return answers
  }
}
