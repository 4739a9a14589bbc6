import { Sleeper } from '../../async/index.js'
import { StoreError } from '../../error/index.js'
import type { InboxRequest, ReportOperation, Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { type Holder, holderOf, shardOf, type TimerRow } from '../../timer/index.js'
import { MAX_REMEMBERED_MS, REMEMBERED_MS, REPORTS_AT_ONCE } from '../defaults.js'
import type { OnEvent } from '../event.js'
import type { EngineSettings } from '../settings.js'
import { isMeant, type NamedAttempt } from '../settle/handed-over-reports.js'
import { newNonce } from './ownership.js'

export interface ReportSenderParts {
  readonly store: Store
  readonly clock: Clock
  readonly settings: EngineSettings
  readonly random: () => number
  readonly onEvent: OnEvent
  /** This process. */
  readonly holder: Holder
}

/**
 * Puts the outcomes of attempts that this process runs for other owners into the inboxes of their shards (rule 3).
 * Reports of one turn of the event loop share a call. A lease later it checks whether the rows still wait: an owner of
 * protocol 2 does not know reports and removes them, so they are sent again.
 *
 * Proven by test/engine/handed-over-reports.test.ts, test/engine/pools.test.ts and the mutants 'the outcome of a handed-over attempt is not sent', 'a report that an owner of protocol 2 removed is not sent again'.
 */
export class ReportSender {
  readonly #parts: ReportSenderParts
  readonly #sleeper: Sleeper
  #waiting: Outgoing[] = []
  #underWay = 0
  // Reports that are in an inbox, in the order in which they were sent.
  #sent: SentReport[] = []
  #isSending = false
  #isChecking = false
  #isOver = false

  constructor(parts: ReportSenderParts) {
    this.#parts = parts
    this.#sleeper = new Sleeper(parts.clock)
  }

  /** Whether every report is in an inbox. */
  get isIdle(): boolean {
    return this.#waiting.length + this.#underWay === 0
  }

  /** Sends a report. `onOver` is called when the row no longer waits for it. */
  send(operation: ReportOperation, onOver: () => void = () => undefined): void {
    this.#waiting.push({ operation, id: this.#newId(), rememberedMs: REMEMBERED_MS, onOver })
    if (!this.#isSending) void this.#sendAll()
  }

  stop(): void {
    this.#isOver = true
    this.#sleeper.cancelAll()
  }

  /** Whether the row waits for a report on this attempt from this process. */
  isHeldHere(named: NamedAttempt, row: TimerRow | undefined): boolean {
    const { member, life } = this.#parts.holder
    const holder = row && holderOf(row)
    return isMeant(named, row) && holder?.member === member && holder.life === life
  }

  async #sendAll(): Promise<void> {
    const { clock, settings } = this.#parts
    this.#isSending = true
    await clock.turnEnd()
    for (let tries = 0; this.#waiting.length > 0 && !this.#isOver;) {
      const batch = this.#waiting.splice(0, REPORTS_AT_ONCE)
      this.#underWay = batch.length
      const unsent = await this.#append(batch)
      this.#waiting.unshift(...unsent)
      this.#underWay = 0
      if (unsent.length === 0) tries = 0
      else await this.#sleeper.sleep(settings.retryMs * Math.min(10, 2 ** tries++))
    }
    this.#isSending = false
  }

  /** Appends reports. Answers those that have to be sent again. */
  async #append(batch: readonly Outgoing[]): Promise<readonly Outgoing[]> {
    const { store, clock } = this.#parts
    const now = clock.now()
    const requests = batch.map(({ id, operation, rememberedMs }) => ({
      id,
      shard: shardOf(operation, store.shardCount),
      deadline: Math.ceil(now + rememberedMs),
      operation,
    }))
    try {
      const answers = await store.append(requests)
      const expired: Outgoing[] = []
      const shards = new Set<number>()
      for (const [index, outgoing] of batch.entries()) {
        if (answers[index] === 'expired') {
          // The inbox refuses a deadline that is earlier than those it has forgotten.
          expired.push({ ...outgoing, rememberedMs: Math.min(outgoing.rememberedMs * 2, MAX_REMEMBERED_MS) })
          continue
        }
        shards.add(requests[index]!.shard)
        this.#sent.push({ outgoing, request: requests[index]!, checkAt: this.#checkAt })
      }
      for (const shard of shards) store.wake(shard)
      if (!this.#isChecking) void this.#checkAll()
      return expired
    } catch (error) {
      return this.#isPassing('append', error) ? batch : []
    }
  }

  /** Checks each report a lease after it was sent, until nothing is left to check. */
  async #checkAll(): Promise<void> {
    const { clock } = this.#parts
    this.#isChecking = true
    while (this.#sent.length > 0 && !this.#isOver) {
      const restMs = this.#sent[0]!.checkAt - clock.monotonic()
      if (restMs > 0) await this.#sleeper.sleep(Math.ceil(restMs))
      if (this.#isOver) break
      const now = clock.monotonic()
      const later = this.#sent.findIndex(({ checkAt }) => checkAt > now)
      const count = Math.min(later < 0 ? this.#sent.length : later, REPORTS_AT_ONCE)
      if (count > 0) await this.#check(this.#sent.splice(0, count))
    }
    this.#isChecking = false
  }

  /**
   * Sends reports again whose rows still wait for them. A report that is still in the inbox is not added twice. If the
   * attempt was unstarted, the owner may have handed it over to another process: then the row waits for that process.
   */
  async #check(reports: readonly SentReport[]): Promise<void> {
    const { store } = this.#parts
    try {
      const rows = await store.find(reports.map(({ outgoing }) => outgoing.operation))
      const held: SentReport[] = []
      for (const [index, report] of reports.entries()) {
        const { operation, onOver } = report.outgoing
        if (this.isHeldHere(operation, rows[index])) held.push(report)
        else onOver()
      }
      if (held.length === 0) return
      const answers = await store.append(held.map(({ request }) => request))
      for (const [index, { outgoing, request }] of held.entries()) {
        if (answers[index] === 'appended') this.#sent.push({ outgoing, request, checkAt: this.#checkAt })
        else this.send(outgoing.operation, outgoing.onOver)
      }
    } catch (error) {
      if (!this.#isPassing('append', error)) return
      for (const { outgoing, request } of reports)
        this.#sent.push({ outgoing, request, checkAt: this.#checkAt })
    }
  }

  #isPassing(call: string, error: unknown): boolean {
    const trouble = error instanceof Error ? error : new Error(String(error))
    this.#parts.onEvent({ type: 'store-trouble', shard: undefined, call, error: trouble })
    return error instanceof StoreError && error.code !== 'store-failed'
  }

  get #checkAt(): number {
    return this.#parts.clock.monotonic() + this.#parts.settings.leaseMs
  }

  #newId(): string {
    return `report-${newNonce(this.#parts.random).toString(36)}`
  }
}

interface Outgoing {
  readonly operation: ReportOperation
  /** The same in each sending, so that the owner applies it once. */
  readonly id: string
  /** How long the store remembers that it was answered. */
  readonly rememberedMs: number
  readonly onOver: () => void
}

interface SentReport {
  readonly outgoing: Outgoing
  readonly request: InboxRequest<ReportOperation>
  /** When to check whether its row still waits for it, by the monotonic clock. */
  readonly checkAt: number
}
