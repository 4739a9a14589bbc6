import type { Clock } from '../../time/index.js'
import { PEER_REST_MS, PEER_SLOW_MS } from '../defaults.js'

export interface PendingMessage {
  /** Call it once, with or without an answer. */
  ended(hasAnswered: boolean): void
}

interface MemberHealth {
  /** The unanswered messages, oldest first. */
  readonly open: Set<{ readonly at: number }>
  restsUntil: number
}

/** Tracks which members answer, so that requests do not wait for one that does not. */
export class PeerHealth {
  readonly #clock: Clock
  readonly #members = new Map<string, MemberHealth>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  mayAsk(member: string): boolean {
    const health = this.#members.get(member)
    if (health === undefined) return true
    const now = this.#clock.monotonic()
    const [oldest] = health.open
    return now >= health.restsUntil && (oldest === undefined || now - oldest.at < PEER_SLOW_MS)
  }

  messageSent(member: string): PendingMessage {
    let health = this.#members.get(member)
    if (health === undefined) this.#members.set(member, (health = { open: new Set(), restsUntil: 0 }))
    const { open } = health
    const sent = { at: this.#clock.monotonic() }
    open.add(sent)
    return {
      ended: (hasAnswered) => {
        open.delete(sent)
        if (hasAnswered) health.restsUntil = 0
        else health.restsUntil = this.#clock.monotonic() + PEER_REST_MS
        if (open.size === 0 && hasAnswered) this.#members.delete(member)
      },
    }
  }
}
