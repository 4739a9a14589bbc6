import { StoreError } from '../../src/error/index.js'
import type { Carriage, StoreCall } from '../../src/store/index.js'

/** A connection to the store that a test can cut, or on which it can make calls fail. */
export class FaultyCarriage implements Carriage {
  isCut = false
  /** Whether a call commits and then loses its answer. */
  loses: (call: StoreCall) => boolean = () => false
  /** Whether a call fails before it commits. */
  fails: (call: StoreCall) => boolean = () => false
  readonly calls: StoreCall[] = []

  async carry<Answer>(call: StoreCall, commit: () => Answer): Promise<Answer> {
    this.calls.push(call)
    if (this.isCut || this.fails(call))
      throw new StoreError('store-unavailable', `${call.name} did not get through`)
    const answer = commit()
    if (this.loses(call)) throw new StoreError('unknown-outcome', `the answer to ${call.name} was lost`)
    return answer
  }

  wake(deliver: () => void): void {
    if (!this.isCut) queueMicrotask(deliver)
  }
}
