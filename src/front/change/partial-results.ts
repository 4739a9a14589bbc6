import type { SubmitAnswer } from '../../engine/index.js'
import { type CarillonError, PartialError, type PartialRow } from '../../error/index.js'

interface Name {
  readonly kind: string
  readonly key: string
}

/**
 * Collects the results of a call on many timers, batch by batch. If all succeeded, there is an answer for each. If all
 * failed with the same code, the first error is thrown. Otherwise a `PartialError` lists both. Proven by
 * test/front/partly-done.test.ts.
 */
export class PartialResults<Answer> {
  readonly #names: Name[] = []
  readonly #answers: (Answer | undefined)[] = []
  readonly #errors = new Map<number, CarillonError>()

  /** Adds a batch. `read` converts the answers that are not errors. Returns whether there is no error so far. */
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

  /** One answer for each. Throws if any failed; `untried` counts the timers that were not attempted. */
  all(untried = 0): readonly Answer[] {
    if (this.#errors.size === 0) return this.#answers as Answer[]
    const [first] = this.#errors.values()
    const isOneCode = [...this.#errors.values()].every(({ code }) => code === first!.code)
    if (isOneCode && this.#errors.size === this.#names.length) throw first!
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
