import type { PoolFiring } from './pool-line.js'

/** A worker, and the time in which it was up. */
interface Up {
  readonly kinds: readonly string[]
  readonly upFrom: number
  readonly upUntil: number
}

interface PoolTimer {
  readonly kind: string
  readonly dueAt: number
  firedAt: number
  starts: number
  /** Whether its `set` failed: nobody knows whether it is there. */
  isUnsure: boolean
}

/**
 * Lateness leaves out timers of a kind that had no handler at their due time. Those that were due this near to the start
 * or the stop of a worker are counted apart.
 */
const NEAR_MS = 2000

/** How late the timers were, in milliseconds, sorted. */
export interface Lateness {
  readonly steady: readonly number[]
  readonly deploying: readonly number[]
  /** Timers that had no handler when they were due. */
  readonly waited: number
}

/** Which timers were set, and which of them started where. */
export class PoolLedger {
  readonly faults: string[] = []
  acked = 0
  unsureCount = 0
  readonly #timers = new Map<string, PoolTimer>()
  #started = 0
  #unsureWaiting = 0

  set(kind: string, key: string, dueAt: number): void {
    this.acked++
    this.#timers.set(key, { kind, dueAt, firedAt: Infinity, starts: 0, isUnsure: false })
  }

  fired(
    [kind, key, dueAt, at]: PoolFiring,
    by: { readonly name: string; readonly kinds: readonly string[] },
  ): void {
    const timer = this.#timers.get(key)
    if (timer === undefined) {
      this.faults.push(`${key} started in ${by.name} and nobody had set it`)
      return
    }
    if (timer.kind !== kind || !by.kinds.includes(kind))
      this.faults.push(`${key} of kind ${timer.kind} started in ${by.name} as ${kind}`)
    if (timer.dueAt !== dueAt) this.faults.push(`${key} is due at ${dueAt}, it was set to ${timer.dueAt}`)
    if (at < dueAt) this.faults.push(`${key} started ${dueAt - at} ms early in ${by.name}`)
    if (timer.starts === 0) {
      this.#started++
      if (timer.isUnsure) this.#unsureWaiting--
    }
    timer.starts++
    timer.firedAt = Math.min(timer.firedAt, at)
  }

  unsure(key: string): void {
    const timer = this.#timers.get(key)!
    if (timer.isUnsure) return
    timer.isUnsure = true
    this.unsureCount++
    if (timer.starts === 0) this.#unsureWaiting++
  }

  /** How many timers have not started, without those of which nobody knows whether they are there. */
  get waiting(): number {
    return this.#timers.size - this.#started - this.#unsureWaiting
  }

  /** How many timers of each kind have not started, of those that are due. */
  waitingByKind(now: number): ReadonlyMap<string, number> {
    const waiting = new Map<string, number>()
    for (const { kind, dueAt, starts, isUnsure } of this.#timers.values())
      if (starts === 0 && !isUnsure && dueAt <= now) waiting.set(kind, (waiting.get(kind) ?? 0) + 1)
    return waiting
  }

  get repeats(): number {
    return [...this.#timers.values()].reduce((sum, { starts }) => sum + Math.max(0, starts - 1), 0)
  }

  lateness(workers: readonly Up[]): Lateness {
    const changes = workers.flatMap(({ upFrom, upUntil }) => [upFrom, upUntil])
    const [steady, deploying]: [number[], number[]] = [[], []]
    let waited = 0
    for (const { kind, dueAt, firedAt, isUnsure } of this.#timers.values()) {
      if (isUnsure) continue
      const isHandled = workers.some(
        ({ kinds, upFrom, upUntil }) =>
          kinds.includes(kind) && upFrom + NEAR_MS <= dueAt && upUntil - NEAR_MS >= dueAt,
      )
      if (!isHandled) waited++
      else if (changes.some((at) => Math.abs(at - dueAt) < NEAR_MS)) deploying.push(firedAt - dueAt)
      else steady.push(firedAt - dueAt)
    }
    const sorted = (all: readonly number[]): readonly number[] => all.toSorted((a, b) => a - b)
    return { steady: sorted(steady), deploying: sorted(deploying), waited }
  }

  finish(): void {
    const lost = [...this.#timers].filter(([, { starts, isUnsure }]) => starts === 0 && !isUnsure)
    for (const [key, { kind, dueAt }] of lost.slice(0, 10))
      this.faults.push(`${key} of kind ${kind}, due at ${dueAt}, was acknowledged and never started`)
    if (lost.length > 10) this.faults.push(`and ${lost.length - 10} others were never started`)
  }
}
