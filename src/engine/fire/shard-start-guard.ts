import type { Window } from '../load/window.js'
import { entryState } from '../load/window-page.js'
import type { Ownership } from '../own/ownership.js'
import type { StartHolds } from '../write/start-holds.js'
import type { Attempt } from './attempt.js'
import type { DueAlarm } from './due-alarm.js'
import type { Lane } from './lane.js'
import type { StartGuard } from './lanes.js'

const { READY, STARTED } = entryState

/**
 * Decides for the lanes of a shard what may start (rule 6). Nothing starts before its due time, without a lease, or
 * while a move or cancel of it is on its way to the store.
 *
 * Proven by the mutants 'the due time is never checked', 'the lease is not checked when a batch is taken from its lane', 'a row can start while its cancel is under way'.
 */
export class ShardStartGuard implements StartGuard {
  readonly #window: Window
  readonly #ownership: Ownership
  readonly #startHolds: StartHolds
  readonly #alarm: DueAlarm
  // Lanes that could not start anything because the lease was over.
  readonly #withoutLease = new Set<Lane>()
  #isFiring = false
  #isSuspended = false

  constructor(window: Window, ownership: Ownership, startHolds: StartHolds, alarm: DueAlarm) {
    this.#window = window
    this.#ownership = ownership
    this.#startHolds = startHolds
    this.#alarm = alarm
  }

  get isFiring(): boolean {
    return this.#isFiring
  }

  get isOpen(): boolean {
    return this.#isFiring && !this.#isSuspended
  }

  open(): void {
    this.#isFiring = true
  }

  close(): void {
    this.#isFiring = false
  }

  suspend(): void {
    this.#isSuspended = true
  }

  resume(): void {
    this.#isSuspended = false
  }

  mayStart(lane: Lane): boolean {
    if (this.#ownership.mayStart) return true
    this.#withoutLease.add(lane)
    return false
  }

  admits(attempt: Attempt, now: number): boolean {
    const { token, row } = attempt
    // Its row was cancelled, replaced or carried elsewhere while it waited.
    if (attempt.isSuperseded || this.#window.page(token)?.attempts[this.#window.index(token)] !== attempt)
      return false
    if (this.#window.state(token) !== READY) return false
    if (this.#startHolds.park(row, token)) return false
    if (row.dueAt > now) {
      this.#alarm.addEarly(token, row.revision, row.dueAt)
      if (this.#isFiring) this.#alarm.set()
      return false
    }
    this.#window.setState(token, STARTED)
    return true
  }

  /** The lane goes on when the lease was renewed. */
  waitForLease(lane: Lane): void {
    this.#withoutLease.add(lane)
  }

  /** The lease was renewed: takes the lanes that waited for it. */
  takeWithoutLease(): readonly Lane[] {
    if (this.#withoutLease.size === 0) return []
    const lanes = [...this.#withoutLease]
    this.#withoutLease.clear()
    return lanes
  }
}
