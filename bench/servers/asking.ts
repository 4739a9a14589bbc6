import { openTimers, type StoreUrl } from 'carillon'
import { Ours } from './ours.js'
import type { Subject } from './subject.js'

/** Timers added by an instance that is not started, so all of them go through the inboxes of the shards. */
export async function open(url: StoreUrl): Promise<Subject> {
  return new Ours(url, await openTimers({ store: url }))
}
