import type { AckOptions, ReleaseOptions, Timers } from '../../front/index.js'
import type { Duration } from '../../time/index.js'

/** What a worker says of a firing that it has leased. */
export type LeaseWord =
  | { readonly type: 'ack'; readonly options: AckOptions }
  | { readonly type: 'extend'; readonly duration: Duration }
  | { readonly type: 'release'; readonly options: ReleaseOptions }

export type LeaseOutcome = 'acked' | 'extended' | 'released' | 'stale'

/** Says it to the timers that gave the lease. */
export async function sayHere(timers: Timers, receipt: string, word: LeaseWord): Promise<LeaseOutcome> {
  switch (word.type) {
    case 'ack':
      return await timers.ack(receipt, word.options)
    case 'extend':
      return await timers.extend(receipt, word.duration)
    case 'release':
      return await timers.release(receipt, word.options)
  }
}

/** The instance that gave a lease: its receipt begins with it. */
export function giverOf(receipt: string): string {
  return receipt.slice(0, Math.max(0, receipt.indexOf('.')))
}
