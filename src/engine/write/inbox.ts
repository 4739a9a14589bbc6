import type { Clock } from '../../time/index.js'
import type {
  BarrierOperation,
  InboxRequest,
  ReportOperation,
  RequestedOperation,
  Store,
} from '../../store/index.js'
import type { HandedOverReports } from '../settle/handed-over-reports.js'
import { isPassing } from '../own/call-errors.js'
import type { Ownership } from '../own/ownership.js'
import { type Mutex, Sleeper } from '../../async/index.js'
import type { InboxHolds } from './inbox-holds.js'
import type { EngineSettings } from '../settings.js'
import type { Writer } from './writer.js'

const REQUESTS_AT_ONCE = 1000

/**
 * Applies the requests of other instances, in the order of their arrival. The write that applies a request also removes
 * it, so each is applied once (rule 3). A barrier is answered when everything before it is applied. Reports on attempts
 * that were handed over go to the settler.
 *
 * Proven by test/engine/engine.test.ts, test/engine/handed-over-reports.test.ts and the mutants 'an inbox that could not be read counts as read', 'reports wait behind requests that wait for memory'.
 */
export class Inbox {
  readonly #store: Store
  readonly #clock: Clock
  readonly #settings: EngineSettings
  readonly #ownership: Ownership
  readonly #mutex: Mutex
  readonly #writer: Writer
  readonly #inboxHolds: InboxHolds
  readonly #reports: HandedOverReports
  readonly #sleeper: Sleeper
  // Wakes up when all requests under way are applied.
  readonly #applySleeper: Sleeper
  readonly #underWay = new Set<string>()
  // Callers of `applyAll`.
  #waiting: ((isApplied: boolean) => void)[] = []
  // How many reports wait for their rows to be loaded.
  #waitingReports = 0
  #isPoked = false
  #isOver = false

  constructor(parts: {
    store: Store
    clock: Clock
    settings: EngineSettings
    ownership: Ownership
    mutex: Mutex
    writer: Writer
    reports: HandedOverReports
    inboxHolds: InboxHolds
  }) {
    this.#store = parts.store
    this.#settings = parts.settings
    this.#ownership = parts.ownership
    this.#mutex = parts.mutex
    this.#writer = parts.writer
    this.#inboxHolds = parts.inboxHolds
    this.#reports = parts.reports
    this.#clock = parts.clock
    this.#sleeper = new Sleeper(parts.clock)
    this.#applySleeper = new Sleeper(parts.clock)
  }

  /** There may be new requests. */
  poke(): void {
    this.#isPoked = true
    this.#sleeper.wakeAll()
  }

  /** A row was loaded that a report may wait for. */
  onHeldRow(): void {
    if (this.#waitingReports > 0) this.poke()
  }

  /** Resolves when all that is in the inbox now has been applied; with false if the inbox ended before that. */
  applyAll(): Promise<boolean> {
    if (this.#isOver) return Promise.resolve(false)
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.poke()
    })
  }

  stop(): void {
    this.#isOver = true
    this.#sleeper.cancelAll()
    this.#applySleeper.cancelAll()
    this.#resolveWaiting(false)
  }

  /** Reads the inbox every `inboxPollMs`, and when poked, until it is stopped. */
  async run(): Promise<void> {
    while (!this.#isOver) {
      this.#isPoked = false
      // Only those that wait now are answered: a later call needs a later read.
      const waiting = this.#waiting.length
      const found = await this.#applyWaiting()
      if (found === 'all') for (const resolve of this.#waiting.splice(0, waiting)) resolve(true)
      if (this.#isOver) this.#resolveWaiting(false)
      if (found !== 'some' && !this.#isPoked) await this.#sleeper.sleep(this.#waitMs)
    }
  }

  get #waitMs(): number {
    const { retryMs, inboxPollMs } = this.#settings
    return this.#waiting.length > 0 ? retryMs : inboxPollMs
  }

  #resolveWaiting(isApplied: boolean): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve(isApplied)
  }

  /** Applies what is in the inbox. Answers 'some' if there is more, and 'none' if it could not be read. */
  async #applyWaiting(): Promise<'all' | 'some' | 'none'> {
    try {
      const { requests, isAll } = await this.#read()
      const fresh = requests.filter(isOperation).filter(({ id }) => !this.#underWay.has(id))
      if (fresh.length > 0) await this.#applyBesideReports(fresh)
      // Some may have been left in the inbox.
      if (this.#isOver) return 'none'
      const barriers = requests.filter(isBarrier)
      if (barriers.length > 0) await this.#answerBarriers(barriers)
      this.#inboxHolds.onApplied()
      // The callers read their answers when they are woken.
      if (fresh.length + barriers.length > 0) this.#store.wake(this.#ownership.shard)
      return isAll ? 'all' : 'some'
    } catch (error) {
      if (!isPassing(error)) throw error
      return 'none'
    }
  }

  /**
   * Reads the inbox, and settles the reports in it. Reports that wait for their rows and requests under way come first in
   * the inbox, so it reads that many more.
   */
  async #read(): Promise<{ readonly requests: readonly InboxRequest[]; readonly isAll: boolean }> {
    const limit = REQUESTS_AT_ONCE + this.#waitingReports + this.#underWay.size
    const readAt = this.#clock.monotonic()
    const requests = await this.#ownership.call('requests', (fence) => this.#store.requests(fence, limit))
    const isAll = requests.length < limit
    const reports = requests.filter(isReport)
    this.#waitingReports = reports.length
    this.#waitingReports = await this.#reports.settle(reports, isAll ? readAt : undefined)
    return { requests, isAll }
  }

  /** Answers barriers. All requests that came before them were read with them and are applied. */
  async #answerBarriers(barriers: readonly InboxRequest<BarrierOperation>[]): Promise<void> {
    const operations = barriers.map(
      ({ id }) => ({ type: 'answer', request: id, outcome: 'unknown' }) as const,
    )
    const finish = await this.#mutex.lock()
    try {
      await this.#ownership.call('write', (fence) => this.#store.write(fence, { operations }))
    } finally {
      finish()
    }
  }

  /** Applies requests. They may wait for room in memory, and a report that comes meanwhile may make that room. */
  async #applyBesideReports(requests: readonly InboxRequest<RequestedOperation>[]): Promise<void> {
    const applied = this.#apply(requests)
    while (this.#underWay.size > 0 && !this.#isOver) {
      await this.#applySleeper.sleep(this.#settings.inboxPollMs)
      if (this.#underWay.size === 0 || this.#isOver) break
      try {
        const later = (await this.#read()).requests.filter(isOperation)
        // Those under way may wait for the room of timers that may not start before a later request is applied.
        void this.#apply(
          later.filter(({ id, operation }) => !this.#underWay.has(id) && this.#inboxHolds.isHeld(operation)),
        )
      } catch (error) {
        if (!isPassing(error)) throw error
      }
    }
    await applied
  }

  /** Applies requests. Resolves when each is answered. */
  #apply(requests: readonly InboxRequest<RequestedOperation>[]): Promise<void> {
    if (requests.length === 0 || this.#isOver) return Promise.resolve()
    const underWay = this.#underWay
    const ids = requests.map(({ id }) => id)
    for (const id of ids) underWay.add(id)
    return new Promise((resolve) => {
      let left = ids.length
      const answered = (index: number): void => {
        if (!underWay.delete(ids[index]!) || --left > 0) return
        this.#applySleeper.wakeAll()
        resolve()
      }
      this.#writer.submit(
        requests.map(({ operation }) => operation),
        { answered },
        ids,
      )
    })
  }
}

function isReport(request: InboxRequest): request is InboxRequest<ReportOperation> {
  return request.operation.type === 'report'
}

function isBarrier(request: InboxRequest): request is InboxRequest<BarrierOperation> {
  return request.operation.type === 'barrier'
}

function isOperation(request: InboxRequest): request is InboxRequest<RequestedOperation> {
  return !isReport(request) && !isBarrier(request)
}
