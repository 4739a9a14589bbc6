import type { AckOptions, ReleaseOptions, Timers } from '../../front/index.js'
import type { Duration } from '../../time/index.js'

/** What a worker does with a firing that it has leased. */
export type LeaseAction =
  | { readonly type: 'ack'; readonly options: AckOptions }
  | { readonly type: 'extend'; readonly duration: Duration }
  | { readonly type: 'release'; readonly options: ReleaseOptions }

export type LeaseOutcome = 'acked' | 'extended' | 'released' | 'stale'

/** Applies an action to a lease of this instance. */
export async function applyLeaseAction(
  timers: Timers,
  receipt: string,
  action: LeaseAction,
): Promise<LeaseOutcome> {
  switch (action.type) {
    case 'ack':
      return await timers.ack(receipt, action.options)
    case 'extend':
      return await timers.extend(receipt, action.duration)
    case 'release':
      return await timers.release(receipt, action.options)
  }
}

/** The member id of the instance that issued a receipt. It is the receipt's first part. */
export function issuerOf(receipt: string): string {
  return receipt.slice(0, Math.max(0, receipt.indexOf('.')))
}
