/**
 * What the last revision of a shard is believed to be, so that rows can be sent as they are stored. It may be
 * wrong, since others write too: then the script puts it right, which costs it more. It goes by the replies, which
 * come in the order of the calls, and takes every operation under way for one that is given a revision.
 */
export class BelievedRevision {
  #last = 0
  #underWay = 0

  /** The last revision before a write of `count` operations, which is about to be sent. */
  next(count: number): number {
    const believed = this.#last + this.#underWay
    this.#underWay += count
    return believed
  }

  /** A write was answered, and `before` was the last revision before it; undefined when it failed. */
  answered(count: number, before: number | undefined): void {
    this.#underWay -= count
    if (before !== undefined) this.#last = before + count
  }
}
