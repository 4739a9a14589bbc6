import type { WebLedger } from './web-ledger.js'

/** What the web processes did and saw, in one line. */
export function shownWeb(ledger: WebLedger): string {
  const { calls, callsByFault, failures, reads, attempts, withoutWorkers, inFlight, counts } = ledger
  const found =
    ledger.faults.length === 0
      ? 'nothing stale started, nothing acknowledged was unseen'
      : `WITH FAULTS: ${shownCounts(counts)}`
  return (
    `web processes: ${found}; calls ${shownCounts(calls)}; ${reads} keys read; ${attempts} attempts, ` +
    `${inFlight} of them begun before they were replaced; ${withoutWorkers} calls without workers; ` +
    `calls during ${shownCounts(callsByFault)}; failed ${shownCounts(failures)}`
  )
}

function shownCounts(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([name, count]) => `${name} ${count}`).join(', ') || 'none'
}
