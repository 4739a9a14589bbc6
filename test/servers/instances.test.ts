import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type Delivery, Ledger } from './instances/ledger.js'
import { scrapeOf } from './instances/scrape.js'

const program = fileURLToPath(new URL('../../.carillon/run/test/servers/instances/chaos.js', import.meta.url))
/** Less than the 6,000 a second of `npm run chaos -- instances`: here all tests share the machine. */
const RATE = '120'
const LONGEST_MS = 300_000

describe('three instances of carillon serve', () => {
  it.each(['postgres', 'cluster'])(
    'lose nothing on one %s when all are restarted, one is killed and one stopped (npm run chaos -- instances tries more)',
    (server) => {
      const args = [program, '--server', server, '--rate', RATE, '--seconds', '15']
      const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      expect(stderr).toBe('')
      expect(stdout).toMatch(/ acknowledged timers, each delivered, none early, nothing missing/)
      // Each of them happened, and others took the shards over.
      for (const fault of ['restart', 'kill -9', 'SIGSTOP'])
        expect(stdout).toMatch(new RegExp(`after ${fault} [1-9]\\d* shards`))
      expect(status).toBe(0)
      console.log(stdout.trim())
    },
    LONGEST_MS,
  )
})

const delivery: Delivery = { key: 'k', id: 'm', attempt: 1, dueAt: 1000, at: 1005, by: '0.1', isDone: true }
const counts = { created: 1, settled: 1, cancelled: 0, replaced: 0, dead: 0 }

/** What a ledger finds when one timer was acknowledged and this came of it. */
function faultsOf(
  deliveries: readonly Partial<Delivery>[],
  given: Partial<typeof counts> = {},
  before: (ledger: Ledger) => void = () => undefined,
): readonly string[] {
  const ledger = new Ledger((life) => life === 'sleeper')
  ledger.sent('k', 1000)
  ledger.answered('k', 'acked')
  before(ledger)
  for (const each of deliveries) ledger.delivered({ ...delivery, ...each })
  ledger.finish({ ...counts, ...given })
  return ledger.faults
}

describe('the ledger of what instances did', () => {
  it('finds nothing where all is well', () => {
    expect(faultsOf([{}])).toEqual([])
    expect(faultsOf([{ isDone: false }, { attempt: 2, by: '1.1' }, { attempt: 3 }])).toEqual([])
  })

  it.each<[string, readonly Partial<Delivery>[], Partial<typeof counts>, RegExp]>([
    ['lost', [], { created: 0, settled: 0 }, /never done/],
    ['never done', [{ isDone: false }], { settled: 0 }, /never done/],
    ['early', [{ at: 999 }], {}, /1 ms early/],
    ['due at another time', [{ dueAt: 1001 }], {}, /it was set to 1000/],
    ['another firing', [{}, { id: 'n', attempt: 2 }], {}, /is now n/],
    ['the same attempt twice', [{}, { by: '1.1' }], {}, /twice as attempt 1/],
    ['of nobody', [{}, { key: 'other' }], {}, /nobody had set it/],
    ['missing in the count of the store', [{}], { created: 0, settled: 0 }, /the store counts/],
    ['settled though it was not delivered', [{}], { created: 2, settled: 2 }, /the store counts/],
    ['dead', [{}], { dead: 1 }, /the store counts/],
  ])('finds a timer that is %s', (_, deliveries, given, fault) => {
    expect(faultsOf(deliveries, given).join('\n')).toMatch(fault)
  })

  it('finds one that is delivered after its cancellation, but by a process that was stopped', () => {
    const cancelled = { settled: 0, cancelled: 1 }
    const cancel = (ledger: Ledger): void => {
      ledger.cancelAsked('k')
      ledger.cancelledNow('k', 1001)
    }
    expect(faultsOf([], cancelled, cancel)).toEqual([])
    expect(faultsOf([{}], cancelled, cancel).join('\n')).toMatch(/4 ms after its cancellation/)
    expect(faultsOf([{ by: 'sleeper' }], cancelled, cancel)).toEqual([])
  })
})

describe('the metrics of an instance', () => {
  const text = [
    'carillon_timers_pending 0',
    ...Object.entries(counts).map(([name, count]) => `carillon_store_${name}_total ${count}`),
    'carillon_fired_total 3',
    'carillon_done_total 2',
    'carillon_retried_total 1',
  ].join('\n')
  const parts = {
    life: '0.1',
    hasLost: false,
    unanswered: 0,
    text,
    received: { deliveries: 3, done: 2, failed: 1 },
    counts,
  }

  it('are compared with what the receiver and verify say', () => {
    expect(scrapeOf(parts).faults).toEqual([])
    const settled = { ...counts, settled: 2 }
    expect(scrapeOf({ ...parts, counts: settled }).faults).toHaveLength(1)
    const pending = text.replace('pending 0', 'pending 1')
    expect(scrapeOf({ ...parts, text: pending }).faults).toHaveLength(1)
  })

  it.runIf(process.platform === 'linux')('are compared with what came from that very process', () => {
    expect(scrapeOf(parts).isExact).toBe(true)
    const more = { deliveries: 4, done: 2, failed: 2 }
    expect(scrapeOf({ ...parts, received: more }).faults).toHaveLength(2)
    expect(scrapeOf({ ...parts, received: more, hasLost: true }).faults).toHaveLength(1)
    const fewer = { deliveries: 2, done: 2, failed: 0 }
    expect(scrapeOf({ ...parts, received: fewer }).faults).toHaveLength(2)
    expect(scrapeOf({ ...parts, received: fewer, unanswered: 1 }).faults).toEqual([])
    expect(scrapeOf({ ...parts, received: fewer, hasLost: true }).faults).toEqual([])
    const notDone = { deliveries: 3, done: 1, failed: 2 }
    expect(scrapeOf({ ...parts, received: notDone }).faults).toHaveLength(2)
  })
})
