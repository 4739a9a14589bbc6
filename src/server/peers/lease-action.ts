import { CarillonError } from '../../error/index.js'
import type { AckOptions, ReleaseOptions, Timers } from '../../front/index.js'
import type { Duration } from '../../time/index.js'

/** What a worker does with a firing that it has leased. */
export type LeaseAction =
  | { readonly type: 'ack'; readonly options: AckOptions }
  | { readonly type: 'extend'; readonly duration: Duration }
  | { readonly type: 'release'; readonly options: ReleaseOptions }

export type LeaseOutcome = 'acked' | 'extended' | 'released' | 'stale'

/** A worker's action on the lease with this receipt. */
export interface LeaseActionOn {
  readonly receipt: string
  readonly action: LeaseAction
}

/** The result of one action: its outcome, or why it was refused or failed. */
export type LeaseResult = { readonly outcome: LeaseOutcome } | { readonly error: CarillonError }

/** Applies actions to leases of this instance. An action that fails does not affect the others. */
export async function applyLeaseActions(
  timers: Timers,
  actions: readonly LeaseActionOn[],
): Promise<readonly LeaseResult[]> {
  const results: LeaseResult[] = []
  for (const { receipt, action } of actions) {
    try {
      results.push({ outcome: await applyLeaseAction(timers, receipt, action) })
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error
      results.push({ error })
    }
  }
  return results
}

async function applyLeaseAction(timers: Timers, receipt: string, action: LeaseAction): Promise<LeaseOutcome> {
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
