/** What is known of one timer; every key is set once. */
interface Known {
  readonly dueAt: number
  state: 'sent' | 'acked' | 'unsure' | 'refused'
  /** Asked to be cancelled; when that was answered by `cancelled`, Infinity before. */
  isCancelAsked: boolean
  cancelledAt: number
  id: string | undefined
  /** The life that delivered it last, and whether it was answered well at least once. */
  by: string
  isDone: boolean
  readonly attempts: number[]
}

/** A delivery as the receiver saw it. */
export interface Delivery {
  readonly key: string
  readonly id: string
  readonly attempt: number
  /** Epoch milliseconds: when it was due by its own word, and when it was here. */
  readonly dueAt: number
  readonly at: number
  /** The life it came from. */
  readonly by: string
  /** Whether it is answered well. */
  readonly isDone: boolean
}

/**
 * What callers were told and what the receiver got, compared: all that was acknowledged is delivered, none early,
 * none after its cancellation was acknowledged, the same id on every attempt, no attempt number twice.
 */
export class Ledger {
  readonly faults: string[] = []
  acked = 0
  unsure = 0
  refused = 0
  cancelled = 0
  deliveries = 0
  /** Timers that were answered well at least once, and those of them that were cancelled all the same. */
  doneKeys = 0
  repeats = 0
  retries = 0
  /** Begun before their process was stopped, and here after another had been told that they are cancelled. */
  overtaken = 0
  readonly lateMs: number[] = []
  readonly #known = new Map<string, Known>()
  readonly #isSleeper: (life: string) => boolean

  /** `isSleeper`: whether a life was stopped for a while. */
  constructor(isSleeper: (life: string) => boolean) {
    this.#isSleeper = isSleeper
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
    })
  }

  /** What the caller was told: that it is set, that it is not, or nothing that can be relied on. */
  answered(key: string, state: 'acked' | 'unsure' | 'refused'): void {
    this.#known.get(key)!.state = state
    this[state]++
  }

  cancelAsked(key: string): void {
    this.#known.get(key)!.isCancelAsked = true
  }

  cancelledNow(key: string, at: number): void {
    this.cancelled++
    this.#known.get(key)!.cancelledAt = at
  }

  delivered(delivery: Delivery): void {
    const { key, id, attempt, dueAt, at, by, isDone } = delivery
    this.deliveries++
    const known = this.#known.get(key)
    if (known === undefined) {
      this.faults.push(`${key} was delivered and nobody had set it`)
      return
    }
    if (dueAt !== known.dueAt)
      this.faults.push(`${key} says it is due at ${dueAt}, it was set to ${known.dueAt}`)
    if (at < known.dueAt) this.faults.push(`${key} was delivered ${known.dueAt - at} ms early by ${by}`)
    if (known.id !== undefined && known.id !== id) this.faults.push(`${key} was ${known.id} and is now ${id}`)
    if (known.attempts.includes(attempt))
      this.faults.push(`${key} was delivered twice as attempt ${attempt}, by ${known.by} and by ${by}`)
    if (at > known.cancelledAt) this.#afterCancel(key, at - known.cancelledAt, by)
    if (known.isDone) this.repeats++
    else if (known.attempts.length > 0) this.retries++
    if (known.attempts.length === 0) this.lateMs.push(at - known.dueAt)
    if (isDone && !known.isDone) {
      known.isDone = true
      this.doneKeys++
    }
    known.id = id
    known.by = by
    known.attempts.push(attempt)
  }

  /** Acknowledged, not asked to be cancelled, and not done. */
  waiting(): string[] {
    const keys: string[] = []
    for (const [key, { state, isCancelAsked, isDone }] of this.#known)
      if (state === 'acked' && !isCancelAsked && !isDone) keys.push(key)
    return keys
  }

  /** At the end, when nothing is left in the store and this is what it has counted. */
  finish(counts: StoreCounts): void {
    for (const key of this.waiting()) this.faults.push(`${key} was acknowledged and never done`)
    for (const [key, { state, attempts }] of this.#known)
      if (state === 'refused' && attempts.length > 0) this.faults.push(`${key} was refused and delivered`)
    const all = [...this.#known.values()]
    // A cancel whose answer was lost may have been carried out or not, also after a delivery that was not settled.
    const doubtful = all.filter(({ isCancelAsked, isDone }) => isCancelAsked && isDone).length
    const { created, settled, cancelled, replaced, dead } = counts
    const isRight =
      created === settled + cancelled &&
      created >= this.acked &&
      created <= this.acked + this.unsure &&
      settled <= this.doneKeys &&
      settled >= this.doneKeys - doubtful &&
      cancelled >= this.cancelled &&
      replaced === 0 &&
      dead === 0
    if (isRight) return
    this.faults.push(
      `the store counts ${JSON.stringify(counts)}, the receiver ${this.acked} acknowledged, ${this.unsure} unsure, ` +
        `${this.doneKeys} done (${doubtful} with a cancel) and ${this.cancelled} cancelled`,
    )
  }

  #afterCancel(key: string, ms: number, by: string): void {
    if (this.#isSleeper(by)) this.overtaken++
    else this.faults.push(`${key} was delivered by ${by} ${ms} ms after its cancellation was acknowledged`)
  }
}

/** What a store has counted since it was made. */
export interface StoreCounts {
  readonly created: number
  readonly settled: number
  readonly cancelled: number
  readonly replaced: number
  readonly dead: number
}
