import type { Place } from '../timer/index.js'
import type { OperationAnswer, WriteAnswer } from './store.js'

/**
 * The answers to a write, built only when somebody reads them. Nearly all answers are the place of a new timer, which
 * is two numbers. As objects they would survive the wait for the disk, and the garbage collector would copy them.
 */
export class WriteAnswers implements WriteAnswer {
  readonly readLevel: Place
  readonly #size: number
  readonly #positions: Float64Array
  readonly #revisions: Float64Array
  readonly #exceptions = new Map<number, OperationAnswer>()
  #answers: readonly OperationAnswer[] | undefined

  constructor(size: number, readLevel: Place) {
    this.#size = size
    this.readLevel = readLevel
    this.#positions = new Float64Array(size)
    this.#revisions = new Float64Array(size)
  }

  /** The first revision, if all answers are new timers. Nothing else took a revision between them. */
  get newFrom(): number | undefined {
    return this.#exceptions.size === 0 ? this.#revisions[0] : undefined
  }

  get answers(): readonly OperationAnswer[] {
    return (this.#answers ??= this.#build())
  }

  /** Answers with the place of a new timer that replaced none. */
  putNew(index: number, position: number, revision: number): void {
    this.#positions[index] = position
    this.#revisions[index] = revision
  }

  put(index: number, answer: OperationAnswer): void {
    this.#exceptions.set(index, answer)
  }

  #build(): OperationAnswer[] {
    const answers = new Array<OperationAnswer>(this.#size)
    const exceptions = this.#exceptions
    for (let i = 0; i < answers.length; i++) {
      const exception = exceptions.size === 0 ? undefined : exceptions.get(i)
      answers[i] = exception ?? {
        outcome: 'set',
        place: { position: this.#positions[i]!, revision: this.#revisions[i]! },
        replaced: undefined,
      }
    }
    return answers
  }
}
