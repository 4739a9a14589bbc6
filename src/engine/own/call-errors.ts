import { StoreError } from '../../error/index.js'

/** The shard is no longer this instance's. Code that gets this error ends without another call to the store. */
export class LostShardError extends Error {}

/** The call did not happen: the store was unavailable, or this owner had raised its own epoch meanwhile. */
export class RetryableCallError extends Error {
  /** The store is full: what adds to it will not succeed soon. */
  get isFull(): boolean {
    return this.cause instanceof StoreError && this.cause.code === 'store-full'
  }
}

/** The call may have happened. The epoch has been raised since, so what the store shows now is final. */
export class UnknownOutcomeError extends Error {}

/** Whether the shard is still ours after this error of a call, so that the call may be made again later. */
export function isPassing(error: unknown): boolean {
  return error instanceof RetryableCallError || error instanceof UnknownOutcomeError
}
