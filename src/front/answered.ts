import type { SubmitAnswer } from '../engine/index.js'
import { type CarillonError, PartialError, type PartialRow } from '../error/index.js'

interface Name {
  readonly kind: string
  readonly key: string
}

/**
 * Collects what became of many, batch by batch. Where all went well there is an answer for each; where nothing
 * was done, for one reason, that is thrown; anything between is a `PartialError` that tells of each.
 */
export class Answered<Answer> {
  readonly #names: Name[] = []
  readonly #answers: (Answer | undefined)[] = []
  readonly #errors = new Map<number, CarillonError>()

  /** Takes note of a batch; `read` is asked for what did not fail. Answers whether all of it went well. */
  add(
    names: readonly Name[],
    answers: readonly SubmitAnswer[],
    read: (answer: SubmitAnswer, index: number) => Answer,
  ): boolean {
    for (const [index, answer] of answers.entries()) {
      if (answer.outcome === 'failed') {
        this.#errors.set(this.#names.length, answer.error)
        this.#answers.push(undefined)
      } else this.#answers.push(read(answer, index))
      this.#names.push(names[index]!)
    }
    return this.#errors.size === 0
  }

  /** One answer for each. Throws when any has failed; `untried` were not begun because of that. */
  all(untried = 0): readonly Answer[] {
    if (this.#errors.size === 0) return this.#answers as Answer[]
    const [first] = this.#errors.values()
    const isOfOneKind = [...this.#errors.values()].every(({ code }) => code === first!.code)
    if (isOfOneKind && this.#errors.size === this.#names.length) throw first!
    throw new PartialError<Answer>(
      this.#names.map(({ kind, key }, index): PartialRow<Answer> => {
        const error = this.#errors.get(index)
        return error === undefined
          ? { kind, key, answer: this.#answers[index] as Answer }
          : { kind, key, error }
      }),
      untried,
    )
  }
}
