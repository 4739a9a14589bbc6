import type { SubmitAnswer } from '../engine/index.js'

/** The outcome, if it is one of those expected; a failure is thrown. */
export function outcomeOf<const Outcome extends SubmitAnswer['outcome']>(
  answer: SubmitAnswer,
  expected: readonly Outcome[],
): Outcome {
  if (answer.outcome === 'failed') throw answer.error
  const outcome = expected.find((each) => each === answer.outcome)
  if (outcome === undefined) {
    throw new Error(`unexpected answer ${answer.outcome}, expected ${expected.join(', ')}`)
  }
  return outcome
}
