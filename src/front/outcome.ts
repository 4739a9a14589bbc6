import type { SubmitAnswer } from '../engine/index.js'

/** The outcome, which must be one of `expected`. Throws the error of a failed operation. */
export function outcomeOf<const Outcome extends SubmitAnswer['outcome']>(
  answer: SubmitAnswer,
  expected: readonly Outcome[],
): Outcome {
  if (answer.outcome === 'failed') throw answer.error
  const outcome = expected.find((each) => each === answer.outcome)
  if (outcome === undefined) {
    throw new Error(`unexpected outcome ${answer.outcome}, expected one of ${expected.join(', ')}`)
  }
  return outcome
}
