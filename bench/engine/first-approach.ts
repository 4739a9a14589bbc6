import type { Measurement } from '../harness/bench.js'

const LOAD_INTERVAL_MS = 5000
const LOOK_AHEAD_MS = 1000
const READ_ROWS = 100
/** Document 000 deletes every 30 to 60 s, and 1,000 to 10,000 timers at once. The rarest of both counts here. */
const DELETE_INTERVAL_MS = 60_000
const DELETE_ROWS = 10_000

/**
 * The first approach of document 000 as its pseudo-code has it, with one shard: a query reads what is due within a
 * second, starts what is due now, and plans the next query for the earliest timer that is not due yet. Timers are deleted
 * in batches. It has no lease and no heartbeat, so it makes no other call.
 */
export function measureFirstApproach(rate: number, seconds: number): Measurement {
  const end = seconds * 1000
  const total = rate * seconds
  const dueAt = (index: number): number => Math.floor((index * 1000) / rate)
  let next = 0
  let reads = 0
  let deletes = 0
  let undeleted = 0
  let deletedAt = 0
  for (let now = 0; now < end;) {
    reads++
    let wakeUp = now + LOAD_INTERVAL_MS
    const last = Math.min(total, next + READ_ROWS)
    while (next < last && dueAt(next) <= now) {
      next++
      undeleted++
    }
    if (next < last && dueAt(next) <= now + LOOK_AHEAD_MS) wakeUp = Math.min(wakeUp, dueAt(next))
    // The page was full of due timers: there are more.
    else if (next === last && next < total && dueAt(next) <= now) wakeUp = now
    if (undeleted >= DELETE_ROWS || (undeleted > 0 && now - deletedAt >= DELETE_INTERVAL_MS)) {
      deletes++
      undeleted = 0
      deletedAt = now
    }
    now = wakeUp
  }
  const each = (count: number): number => (count * 1000) / next
  return {
    metrics: {
      reads: each(reads),
      deletes: each(deletes),
      'rows deleted': 1000,
      settlements: 0,
      sweeps: 0,
      writes: 1000 / rate,
      lease: 0,
      'fire calls': each(reads + deletes),
      all: each(reads + deletes) + 1000 / rate,
    },
    checks: { fired: next },
    notes: [`${next} timers fired`],
  }
}
