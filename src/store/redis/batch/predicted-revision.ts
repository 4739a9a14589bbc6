/**
 * Predicts the last revision of a shard, so that rows can be sent in the form in which they are stored. The prediction
 * may be wrong, because others write too. The script then corrects it, which takes it longer. The prediction adds to the
 * last answered revision one revision for every operation in flight. Replies come in the order of the calls.
 *
 * Proven by test/store/redis/writes.test.ts.
 */
export class PredictedRevision {
  #last = 0
  #inFlight = 0

  /** The predicted last revision before a write of `count` operations that is about to be sent. */
  next(count: number): number {
    const predicted = this.#last + this.#inFlight
    this.#inFlight += count
    return predicted
  }

  /** A write was answered. `before` was the last revision before it, undefined when the write failed. */
  answered(count: number, before: number | undefined): void {
    this.#inFlight -= count
    if (before !== undefined) this.#last = before + count
  }
}
