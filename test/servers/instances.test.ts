import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type Delivery, Ledger } from './instances/ledger.js'
import { Running, UNKNOWN } from './instances/running.js'
import { scrapeOf } from './instances/scrape.js'

const program = fileURLToPath(new URL('../../.carillon/run/test/servers/instances/chaos.js', import.meta.url))
/** Less than the 6,000 a second of `npm run chaos -- instances`, because all tests share the machine. */
const RATE = '120'
const MAX_MS = 300_000

describe('three instances of carillon serve', () => {
  it.each(['postgres', 'cluster'])(
    'lose no timer on one %s while all are restarted, one is killed and one is stopped (npm run chaos -- instances tries more)',
    (server) => {
      const faults = ['--faults', 'roll,kill-and-stop,join']
      const load = ['--load', 'long,workers']
      const args = [program, '--server', server, '--rate', RATE, '--seconds', '15', ...faults, ...load]
      const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      expect(stderr).toMatch(/^(?:chaos: .*\n)*$/)
      expect(stdout).toMatch(/ acknowledged timers, each delivered, none early, nothing missing/)
      // Each fault happened, and other instances took the shards over.
      for (const fault of ['restart', 'kill -9', 'SIGSTOP'])
        expect(stdout).toMatch(new RegExp(`after ${fault} [1-9]\\d* shards`))
      expect(status).toBe(0)
      console.log(stdout.trim())
    },
    MAX_MS,
  )
})

const delivery: Delivery = { key: 'k', id: 'm', attempt: 1, dueAt: 1000, at: 1005, by: '0.1', isDone: true }
const counts = { created: 1, settled: 1, cancelled: 0, replaced: 0, dead: 0 }

/** The faults that a ledger finds after one acknowledged timer, these deliveries and these counts. */
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

describe('the ledger of the trials on instances', () => {
  it('finds no fault in a correct run', () => {
    expect(faultsOf([{}])).toEqual([])
    expect(faultsOf([{ isDone: false }, { attempt: 2, by: '1.1' }, { attempt: 3 }])).toEqual([])
  })

  it.each<[string, readonly Partial<Delivery>[], Partial<typeof counts>, RegExp]>([
    ['lost', [], { created: 0, settled: 0 }, /never done/],
    ['never done', [{ isDone: false }], { settled: 0 }, /never done/],
    ['early', [{ at: 999 }], {}, /1 ms early/],
    ['delivered with another due time', [{ dueAt: 1001 }], {}, /it was set to 1000/],
    ['delivered as another firing', [{}, { id: 'n', attempt: 2 }], {}, /is now n/],
    ['delivered twice as the same attempt', [{}, { by: '1.1' }], {}, /twice as attempt 1/],
    ['delivered though nobody set it', [{}, { key: 'other' }], {}, /nobody had set it/],
    ['missing in the counts of the store', [{}], { created: 0, settled: 0 }, /the store counts/],
    ['settled without a delivery', [{}], { created: 2, settled: 2 }, /the store counts/],
    ['dead', [{}], { dead: 1 }, /the store counts/],
  ])('finds a timer that is %s', (_, deliveries, given, fault) => {
    expect(faultsOf(deliveries, given).join('\n')).toMatch(fault)
  })

  it('finds a delivery after a cancellation, but allows it in a process that was paused (SIGSTOP)', () => {
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

describe('the order of attempts in the ledger of the trials on instances', () => {
  const backwards = (by: string) => faultsOf([{ attempt: 2, isDone: false }, { by }]).join('\n')

  it('finds an attempt that starts after one with a higher number, unless its process was paused or is unknown', () => {
    expect(backwards('0.1')).toMatch(/as attempt 1 after 2/)
    expect(backwards('sleeper')).toBe('')
    expect(backwards(UNKNOWN)).toBe('')
  })
})

describe('the check for attempts that run at once in the trials on instances', () => {
  /** How many attempts began beside another, when the first runs in `by` and this happened around it. */
  function overlapsOf(by: string, happens: (running: Running) => void = () => undefined): number {
    const running = new Running()
    running.begins('k', 1, by, 1000)
    happens(running)
    running.begins('k', 2, '1.1', 2000)
    return running.overlaps.length
  }

  it('finds an attempt that begins while another runs in a process without trouble', () => {
    expect(overlapsOf('0.1')).toBe(1)
    expect(overlapsOf('0.1', (running) => running.troubled('0.1', 999))).toBe(1)
    expect(overlapsOf('0.1', (running) => running.troubled('1.1', 1500))).toBe(1)
  })

  it('allows an attempt to begin if the other has ended, or if the process of the other was in trouble or is unknown', () => {
    expect(overlapsOf('0.1', (running) => running.ends('k', 1, '0.1'))).toBe(0)
    expect(overlapsOf('0.1', (running) => running.troubled('0.1', 1500))).toBe(0)
    expect(overlapsOf('0.1', (running) => running.troubled('0.1', 20_000))).toBe(0)
    expect(overlapsOf(UNKNOWN)).toBe(0)
  })
})

describe('the metrics check of the trials on instances', () => {
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

  it('compares the metrics with the counts of verify', () => {
    expect(scrapeOf(parts).faults).toEqual([])
    const settled = { ...counts, settled: 2 }
    expect(scrapeOf({ ...parts, counts: settled }).faults).toHaveLength(1)
    const pending = text.replace('pending 0', 'pending 1')
    expect(scrapeOf({ ...parts, text: pending }).faults).toHaveLength(1)
  })

  it.runIf(process.platform === 'linux')(
    'compares the metrics of a process with the deliveries that came from it',
    () => {
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
    },
  )
})
