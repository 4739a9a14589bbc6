import { UNKNOWN } from './running.js'

/** How many histories are printed in full. */
const MAX_SHOWN = 5

/** What is known of one timer. Every key is set once. */
interface Known {
  readonly dueAt: number
  state: 'sent' | 'acked' | 'unsure' | 'refused'
  /** Whether a cancel was sent, and when it was answered with `cancelled`; Infinity before that. */
  isCancelAsked: boolean
  cancelledAt: number
  id: string | undefined
  /** The process that delivered it last, and whether the receiver accepted it at least once. */
  by: string
  isDone: boolean
  readonly attempts: number[]
  readonly history: string[]
}

/** A delivery as the receiver saw it. */
export interface Delivery {
  readonly key: string
  readonly id: string
  readonly attempt: number
  /** Its due time as the message says, and when it arrived, in epoch milliseconds. */
  readonly dueAt: number
  readonly at: number
  /** The process that it came from. */
  readonly by: string
  /** Whether the receiver accepts it. */
  readonly isDone: boolean
  /** The payload, if it has one. */
  readonly data?: unknown
}

/**
 * Compares the answers to callers with what the receiver got. Every acknowledged timer is delivered. None arrives
 * early, and none after its cancellation was acknowledged. Every attempt has the same id, and no attempt number comes
 * twice.
 */
export class Ledger {
  readonly faults: string[] = []
  acked = 0
  unsure = 0
  refused = 0
  cancelled = 0
  deliveries = 0
  /** Timers that the receiver accepted at least once. */
  doneKeys = 0
  repeats = 0
  retries = 0
  /** Deliveries by a process that was paused (SIGSTOP) which arrived after the timer's cancel was acknowledged. */
  overtaken = 0
  readonly lateMs: number[] = []
  readonly #known = new Map<string, Known>()
  readonly #isSleeper: (life: string) => boolean
  readonly #storeTimeAt: (at: number) => number
  readonly #repeatsByFault = new Map<string, number>()
  #fault = 'no fault'

  /**
   * `isSleeper`: whether a process was paused for a while. `storeTimeAt`: the latest time that the store's clock may
   * have shown at a moment of the right wall clock.
   */
  constructor(isSleeper: (life: string) => boolean, storeTimeAt: (at: number) => number = (at) => at) {
    this.#isSleeper = isSleeper
    this.#storeTimeAt = storeTimeAt
  }

  sent(key: string, dueAt: number): void {
    this.#known.set(key, {
      dueAt,
      state: 'sent',
      isCancelAsked: false,
      cancelledAt: Infinity,
      id: undefined,
      by: '',
      isDone: false,
      attempts: [],
      history: [],
    })
  }

  /** The answer to the caller: the timer is set, it is not, or nobody knows. */
  answered(key: string, state: 'acked' | 'unsure' | 'refused'): void {
    const known = this.#known.get(key)!
    known.state = state
    this.#note(known, `was answered ${state}`)
    this[state]++
  }

  cancelAsked(key: string): void {
    this.#known.get(key)!.isCancelAsked = true
  }

  cancelledNow(key: string, at: number): void {
    this.cancelled++
    const known = this.#known.get(key)!
    known.cancelledAt = at
    this.#note(known, 'was answered cancelled')
  }

  /** A fault begins: repeated deliveries are counted for it from now on. */
  faultBegins(name: string): void {
    this.#fault = name
  }

  get repeatsByFault(): ReadonlyMap<string, number> {
    return this.#repeatsByFault
  }

  /** A violation that another check found. */
  violated(key: string, text: string): void {
    this.#violated(key, `${key} ${text}`)
  }

  /** The receiver answered an attempt whose delivery was recorded before. */
  ended(key: string, text: string, isDone: boolean): void {
    const known = this.#known.get(key)
    if (known === undefined) return
    this.#note(known, text)
    if (!isDone || known.isDone) return
    known.isDone = true
    this.doneKeys++
  }

  delivered(delivery: Delivery): void {
    const { key, id, attempt, dueAt, at, by, isDone } = delivery
    this.deliveries++
    const known = this.#known.get(key)
    if (known === undefined) {
      this.faults.push(`${key} was delivered and nobody had set it`)
      return
    }
    this.#note(known, `attempt ${attempt} came from ${by}`)
    if (dueAt !== known.dueAt)
      this.#violated(key, `${key} says it is due at ${dueAt}, it was set to ${known.dueAt}`)
    const earlyMs = known.dueAt - this.#storeTimeAt(at)
    if (earlyMs > 0) this.#violated(key, `${key} was delivered ${earlyMs} ms early by ${by}`)
    if (known.id !== undefined && known.id !== id)
      this.#violated(key, `${key} was ${known.id} and is now ${id}`)
    if (known.attempts.includes(attempt))
      this.#violated(key, `${key} was delivered twice as attempt ${attempt}, by ${known.by} and by ${by}`)
    else if (attempt < Math.max(0, ...known.attempts) && by !== UNKNOWN && !this.#isSleeper(by))
      this.#violated(key, `${key} was delivered as attempt ${attempt} after ${known.attempts.join(', ')}`)
    if (at > known.cancelledAt) this.#afterCancel(key, at - known.cancelledAt, by)
    if (known.isDone) {
      this.repeats++
      this.#repeatsByFault.set(this.#fault, (this.#repeatsByFault.get(this.#fault) ?? 0) + 1)
    } else if (known.attempts.length > 0) this.retries++
    if (known.attempts.length === 0) this.lateMs.push(at - known.dueAt)
    if (isDone && !known.isDone) {
      known.isDone = true
      this.doneKeys++
    }
    known.id = id
    known.by = by
    known.attempts.push(attempt)
  }

  /** The keys of timers that are acknowledged and not done, without those for which a cancel was sent. */
  waiting(): string[] {
    const keys: string[] = []
    for (const [key, { state, isCancelAsked, isDone }] of this.#known)
      if (state === 'acked' && !isCancelAsked && !isDone) keys.push(key)
    return keys
  }

  /**
   * The last checks, when the store is empty. `counts` are the counters of the store. `others` are timers that others
   * have set, whose histories are not here.
   */
  finish(counts: StoreCounts, others: OtherTimers = { acked: 0, sent: 0, done: 0 }): void {
    for (const key of this.waiting()) this.#violated(key, `${key} was acknowledged and never done`)
    for (const [key, { state, attempts }] of this.#known)
      if (state === 'refused' && attempts.length > 0) this.faults.push(`${key} was refused and delivered`)
    const all = [...this.#known.values()]
    // A cancel without an answer may have happened or not, even after a delivery that was not settled.
    const doubtful = all.filter(({ isCancelAsked, isDone }) => isCancelAsked && isDone).length
    const { created, settled, cancelled, replaced, dead } = counts
    const isRight =
      created === settled + cancelled + replaced &&
      created >= this.acked + others.acked &&
      created <= this.acked + this.unsure + others.sent &&
      settled <= this.doneKeys + others.done &&
      settled >= this.doneKeys - doubtful &&
      cancelled >= this.cancelled &&
      replaced <= others.sent &&
      dead === 0
    if (isRight) return
    this.faults.push(
      `the store counts ${JSON.stringify(counts)}, the receiver ${this.acked} acknowledged, ${this.unsure} unsure, ` +
        `${this.doneKeys} done (${doubtful} with a cancel) and ${this.cancelled} cancelled, others ${JSON.stringify(others)}`,
    )
  }

  #afterCancel(key: string, ms: number, by: string): void {
    if (this.#isSleeper(by)) this.overtaken++
    else this.#violated(key, `${key} was delivered by ${by} ${ms} ms after its cancellation was acknowledged`)
  }

  #violated(key: string, text: string): void {
    const { history, dueAt } = this.#known.get(key)!
    const shown = this.faults.length < MAX_SHOWN ? `\n    due at ${dueAt}: ${history.join('; ')}` : ''
    this.faults.push(`${text}${shown}`)
  }

  #note({ history, dueAt }: Known, text: string): void {
    const ms = Date.now() - dueAt
    history.push(`${ms < 0 ? '' : '+'}${ms} ms ${text}`)
  }
}

/** Sets that were acknowledged, sets that were sent, and timers that were done at least once. */
export interface OtherTimers {
  readonly acked: number
  readonly sent: number
  readonly done: number
}

/** The counters of a store since it was created. */
export interface StoreCounts {
  readonly created: number
  readonly settled: number
  readonly cancelled: number
  readonly replaced: number
  readonly dead: number
}
