import type { Fired, Line } from './report.js'

/** What is known of one timer; every key is set once. */
interface Known {
  dueAt: number | undefined
  isAcked: boolean
  isCancelAsked: boolean
  cancelledAt: number
  settledAt: number
  id: string | undefined
  isDone: boolean
  /** Who delivered it last, and when that attempt was started. */
  by: string
  lastStartedAt: number
  readonly attempts: number[]
}

/**
 * The receiver's side of the promises, over all instances and all their lives: every acknowledged timer is
 * delivered and done at least once, none early, none started after its settlement or its cancellation was
 * acknowledged; firing ids stay the same and no attempt has the number of another.
 */
export class Receiver {
  readonly faults: string[] = []
  acked = 0
  unsure = 0
  deliveries = 0
  settledCount = 0
  cancelledCount = 0
  /** Deliveries of what another life had done already, and of what another life had begun. */
  repeats = 0
  resumed = 0
  retries = 0
  /** Deliveries that were begun before their process was stopped, and arrived when another had settled them. */
  overtaken = 0
  readonly troubles = new Map<string, number>()
  readonly #known = new Map<string, Known>()
  readonly #waiting = new Set<string>()

  take(by: string, line: Line): void {
    switch (line.say) {
      case 'set':
        for (const [key, dueAt] of line.timers) this.#of(key).dueAt = dueAt
        break
      case 'acked':
        for (const key of line.keys) this.#acked(key)
        break
      case 'unsure':
        this.unsure += line.keys.length
        break
      case 'cancel':
        this.#of(line.key).isCancelAsked = true
        break
      case 'cancelled':
        this.#cancelled(line.key, line.at)
        break
      case 'fired':
        for (const firing of line.firings) this.#fired(by, firing)
        break
      case 'ended':
        if (line.isDone) for (const key of line.keys) this.#done(key)
        break
      case 'settled':
        for (const key of line.keys) this.#settled(key, line.at)
        break
      case 'trouble':
        this.troubles.set(line.code, (this.troubles.get(line.code) ?? 0) + 1)
        break
      case 'ready':
      case 'acquired':
      case 'let-go':
        break
    }
  }

  /** Acknowledged, not cancelled, and not done so far. */
  get waiting(): readonly string[] {
    return [...this.#waiting].filter((key) => !this.#of(key).isCancelAsked)
  }

  /** At the end, when nothing is left in the store. */
  finish(): void {
    for (const key of this.waiting) this.faults.push(`${key} was acknowledged and never done`)
    for (const [key, { dueAt }] of this.#known) {
      if (dueAt === undefined) this.faults.push(`${key} was delivered or settled and nobody had set it`)
    }
  }

  #acked(key: string): void {
    this.acked++
    const known = this.#of(key)
    known.isAcked = true
    if (!known.isDone) this.#waiting.add(key)
  }

  #cancelled(key: string, at: number): void {
    this.cancelledCount++
    const known = this.#of(key)
    known.cancelledAt = at
    if (known.lastStartedAt > at) this.#afterCancel(key, known.lastStartedAt - at)
  }

  #fired(by: string, { key, id, attempt, dueAt, lateMs, startedAt, at }: Fired): void {
    this.deliveries++
    const known = this.#of(key)
    if (lateMs < 0) this.faults.push(`${key} was delivered ${-lateMs} ms early`)
    if (known.dueAt !== undefined && known.dueAt !== dueAt) {
      this.faults.push(`${key} is due at ${dueAt}, it was set to ${known.dueAt}`)
    }
    if (known.id !== undefined && known.id !== id) {
      this.faults.push(`${key} was the firing ${known.id} and is now ${id}`)
    }
    if (known.attempts.includes(attempt)) {
      this.faults.push(`${key} was delivered twice as attempt ${attempt}, by ${known.by} and by ${by}`)
    }
    if (startedAt > known.cancelledAt) this.#afterCancel(key, startedAt - known.cancelledAt)
    if (startedAt > known.settledAt) this.#afterSettlement(key, startedAt - known.settledAt, by)
    else if (at > known.settledAt) this.overtaken++
    if (known.attempts.length > 0) {
      if (known.by === by) this.retries++
      else if (known.isDone) this.repeats++
      else this.resumed++
    }
    known.id = id
    known.by = by
    known.lastStartedAt = Math.max(known.lastStartedAt, startedAt)
    known.attempts.push(attempt)
  }

  #done(key: string): void {
    this.#of(key).isDone = true
    this.#waiting.delete(key)
  }

  #settled(key: string, at: number): void {
    this.settledCount++
    const known = this.#of(key)
    // Told by the one who delivered it, so that is already known.
    if (!known.isDone) this.faults.push(`${key} was settled while no attempt at it was over`)
    known.settledAt = Math.min(known.settledAt, at)
    // What another instance started may have come to us first.
    if (known.lastStartedAt > known.settledAt) {
      this.#afterSettlement(key, known.lastStartedAt - known.settledAt, known.by)
    }
  }

  #afterCancel(key: string, ms: number): void {
    this.faults.push(`${key} was started ${ms.toFixed(1)} ms after it was cancelled`)
  }

  #afterSettlement(key: string, ms: number, by: string): void {
    this.faults.push(`${key} was started by ${by} ${ms.toFixed(1)} ms after its settlement was acknowledged`)
  }

  #of(key: string): Known {
    let known = this.#known.get(key)
    if (known === undefined) {
      known = {
        dueAt: undefined,
        isAcked: false,
        isCancelAsked: false,
        cancelledAt: Infinity,
        settledAt: Infinity,
        id: undefined,
        isDone: false,
        by: '',
        lastStartedAt: -Infinity,
        attempts: [],
      }
      this.#known.set(key, known)
    }
    return known
  }
}
