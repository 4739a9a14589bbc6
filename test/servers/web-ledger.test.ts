import { describe, expect, it } from 'vitest'
import type { WebFiring } from './web/key-history.js'
import { type WebCheck, WebLedger } from './web/web-ledger.js'
import type { WebLine, WebOp, WebRow } from './web/web-line.js'

const EPOCH = 500_000
/** The key's timers are due at these times of the machine's clock. */
const SOON = 1000
const FAR = 100_000

/** A ledger in which one web process changes the key `k`, one call of 10 ms after the other. */
class Page {
  readonly ledger: WebLedger
  #call = 0

  constructor(inFlightMs = 0) {
    this.ledger = new WebLedger({
      storeTimeAt: (at) => at + EPOCH,
      toleranceMs: 20,
      isDisturbed: (by) => by === 'paused',
      inFlightMs,
    })
  }

  change(at: number, op: WebOp, version: number, due: number, answer: string): this {
    return this.changeAll(at, op, [row(version, due)], [answer])
  }

  changeAll(
    at: number,
    op: WebOp,
    rows: readonly WebRow[],
    answers: readonly string[],
    many?: { found: number; cancelled: number },
  ): this {
    const call = ++this.#call
    this.take({ say: 'asked', call, op, rows, at })
    return this.take({ say: 'answered', call, answers, ...(many && { many }), at: at + 10 })
  }

  take(line: WebLine, by = 'w0'): this {
    this.ledger.take(by, line)
    return this
  }

  read(from: number, seen: readonly WebRow[], by = 'w1'): this {
    return this.take({ say: 'read', how: 'get', keys: ['k'], seen, from, at: from + 10 }, by)
  }

  fired(at: number, version: number, due: number, more: Partial<WebFiring> = {}): this {
    this.ledger.fired({ ...row(version, due), by: '0.1', attempt: 1, startedAt: at, at, ...more })
    this.ledger.done(row(version, due))
    return this
  }

  /** The checks that failed. */
  get red(): readonly WebCheck[] {
    this.ledger.finish()
    return [...this.ledger.counts.keys()]
  }
}

function row(version: number, due: number, key = 'k'): WebRow {
  return { key, version, dueAt: due + EPOCH }
}

describe('the ledger of web processes', () => {
  it('finds nothing wrong when the last version fires once it is due', () => {
    const page = new Page()
      .change(0, 'set', 1, SOON, 'set')
      .change(100, 'replace', 2, SOON, 'set')
      .change(200, 'move', 2, SOON + 500, 'moved')
      .read(300, [row(2, SOON + 500)])
      .fired(SOON + 501, 2, SOON + 500)
      .read(SOON + 600, [])
    expect(page.red).toEqual([])
  })

  it.each<[string, WebCheck, (page: Page) => Page]>([
    ['a replaced version that starts', 'stale', (page) => page.change(900, 'replace', 2, FAR, 'set')],
    [
      'a moved timer that starts at its old time',
      'stale',
      (page) => page.change(900, 'move', 1, FAR, 'moved'),
    ],
    ['a cancelled timer that starts', 'stale', (page) => page.change(900, 'cancel', 1, SOON, 'cancelled')],
    [
      'a timer that starts though it was cancelled by prefix',
      'stale',
      (page) => page.changeAll(900, 'cancel-many', [row(1, SOON)], ['many'], { found: 1, cancelled: 1 }),
    ],
  ])('finds %s after the answer', (_, check, end) => {
    const page = end(new Page().change(0, 'set', 1, SOON, 'set'))
    expect(page.fired(SOON + 5, 1, SOON).red).toContain(check)
  })

  it('allows an attempt that had started when its timer was replaced, but not when it was cancelled', () => {
    const begun = { startedAt: SOON + 1 }
    const replaced = new Page()
      .change(0, 'set', 1, SOON, 'set')
      .change(SOON, 'replace', 2, SOON, 'set')
      .fired(SOON + 15, 1, SOON, begun)
      .fired(SOON + 20, 2, SOON)
    expect(replaced.red).toEqual([])
    expect(replaced.ledger.inFlight).toBe(1)
    const cancelled = (by: string) =>
      new Page()
        .change(0, 'set', 1, SOON, 'set')
        .change(SOON, 'cancel', 1, SOON, 'cancelled')
        .fired(SOON + 15, 1, SOON, { ...begun, by })
    expect(cancelled('0.1').red).toEqual(['stale'])
    expect(cancelled('paused').red).toEqual([])
  })

  it('allows a delivery of a replaced timer that was under way, where the start is not known', () => {
    const page = () => new Page(50).change(0, 'set', 1, SOON, 'set').change(SOON, 'replace', 2, SOON, 'set')
    expect(
      page()
        .fired(SOON + 55, 1, SOON)
        .fired(SOON + 60, 2, SOON).red,
    ).toEqual([])
    expect(
      page()
        .fired(SOON + 65, 1, SOON)
        .fired(SOON + 70, 2, SOON).red,
    ).toEqual(['stale'])
  })

  it.each<[string, readonly WebRow[]]>([
    ['does not see a timer that was acknowledged', []],
    ['sees the version before', [row(1, FAR)]],
    ['sees another due time', [row(2, FAR + 1)]],
  ])('finds a read that %s', (_, seen) => {
    const page = new Page()
      .change(0, 'set', 1, FAR, 'set')
      .change(100, 'replace', 2, FAR, 'set')
      .read(111, seen)
    expect(page.change(200, 'cancel', 2, FAR, 'cancelled').red).toEqual(['unseen'])
  })

  it('finds a read that sees a cancelled timer, and allows both while the cancel is under way', () => {
    const page = () => new Page().change(0, 'set', 1, FAR, 'set').change(100, 'cancel', 1, FAR, 'cancelled')
    expect(page().read(111, [row(1, FAR)]).red).toEqual(['unseen'])
    expect(
      page()
        .read(95, [row(1, FAR)])
        .read(105, []).red,
    ).toEqual([])
  })

  it.each<[string, WebOp, string]>([
    ['a set if absent that does not see the timer', 'set-if-absent', 'set'],
    ['a cancel that does not see the timer', 'cancel', 'unknown'],
    ['a move that is answered as if the timer had ended', 'move', 'settled'],
    ['a set that ignores the revision', 'set-if-wrong-revision', 'set'],
  ])('finds %s', (_, op, answer) => {
    const page = new Page().change(0, 'set', 1, FAR, 'set').change(100, op, 2, FAR, answer)
    expect(page.red).toContain('unseen')
  })

  it('finds a cancel by prefix that does not find all, and a count that is too small', () => {
    const rows = [row(1, FAR, 'k'), row(2, FAR, 'l')]
    const page = new Page()
      .changeAll(0, 'set', rows, ['set', 'set'])
      .changeAll(100, 'cancel-many', rows, ['many', 'many'], { found: 1, cancelled: 1 })
    expect(page.red).toContain('unseen')
    const limits = { how: 'forecast', namespace: 'audit-w0-1', least: 2, most: 2, seen: 1 } as const
    const counted = (turn?: number): WebLine => ({
      say: 'counted',
      ...limits,
      from: 10,
      at: 20,
      ...(turn !== undefined && { turn }),
    })
    expect(new Page().take(counted()).red).toEqual(['unseen'])
    expect(new Page().take(counted(1), 'w1').red).toEqual(['unseen'])
    // The process that asked had gone on meanwhile.
    expect(new Page().take(counted(1), 'w1').take({ say: 'look-over', turn: 1, at: 15 }).red).toEqual([])
  })

  it('finds a version that was refused and starts, one that starts early, and one that never starts', () => {
    const refused = new Page()
      .change(0, 'set', 1, SOON, 'set')
      .change(100, 'set-if-absent', 2, SOON, 'conflict')
      .fired(SOON, 1, SOON)
    expect(refused.fired(SOON + 1, 2, SOON).red).toEqual(['ghost'])
    expect(new Page().change(0, 'set', 1, SOON, 'set').fired(SOON - 21, 1, SOON).red).toEqual(['early'])
    expect(new Page().change(0, 'set', 1, SOON, 'set').red).toEqual(['lost'])
  })

  it('allows others to see a timer that its owner calls settled, but not one that is unknown', () => {
    const ended = (answer: string) =>
      new Page()
        .change(0, 'set', 1, SOON, 'set')
        .fired(SOON, 1, SOON)
        .change(SOON + 20, 'cancel', 1, SOON, answer)
        .read(SOON + 40, [row(1, SOON)])
    expect(ended('settled').red).toEqual([])
    expect(ended('unknown').red).toEqual(['unseen'])
  })

  it('says nothing about a key after a call of unknown outcome', () => {
    const page = new Page()
      .change(0, 'set', 1, SOON, 'set')
      .change(100, 'replace', 2, FAR, 'failed unknown-outcome')
      .read(200, [row(2, FAR)])
      .fired(SOON, 1, SOON)
    expect(page.red).toEqual([])
  })

  it('finds a call that fails while no worker is up', () => {
    const during = (at: number, code: string) => {
      const page = new Page()
      const end = page.ledger.noWorkers(100)
      page.change(at, 'set', 1, FAR, `failed ${code}`)
      end(200)
      return page
    }
    expect(during(100, 'owner-unreachable').red).toEqual(['failed-without-workers'])
    expect(during(50, 'owner-unreachable').red).toEqual([])
  })
})
