import type { Answer } from '../answer.js'
import type { AnswerListener } from './task.js'

/** Collects the answers to operations that were submitted together. Of several answers to one, the first counts. */
export class AnswerList implements AnswerListener {
  readonly #resolve: (answers: readonly Answer[]) => void
  readonly #length: number
  #answers: Answer[] | undefined
  #left: number

  constructor(length: number, resolve: (answers: readonly Answer[]) => void) {
    this.#length = length
    this.#left = length
    this.#resolve = resolve
  }

  answered(index: number, answer: Answer): void {
    const answers = (this.#answers ??= new Array<Answer>(this.#length))
    if (answers[index] !== undefined) return
    answers[index] = answer
    if (--this.#left === 0) this.#resolve(answers)
  }
}
