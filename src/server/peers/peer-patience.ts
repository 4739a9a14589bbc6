import type { Clock } from '../../time/index.js'

// How long a member may leave a message unanswered before it is asked no more.
const PATIENCE_MS = 1000
// How long one is left alone that did not answer at all.
const REST_MS = 5000

/** One message on its way. */
export interface Asked {
  /** It is over, with an answer or without. */
  ended(hasAnswered: boolean): void
}

interface Known {
  /** When each message was sent that is not answered yet, oldest first. */
  readonly open: Set<{ readonly at: number }>
  restsUntil: number
}

/** Knows which members answer, so that nobody waits for one that does not. */
export class PeerPatience {
  readonly #clock: Clock
  readonly #known = new Map<string, Known>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  mayAsk(member: string): boolean {
    const known = this.#known.get(member)
    if (known === undefined) return true
    const now = this.#clock.monotonic()
    const [oldest] = known.open
    return now >= known.restsUntil && (oldest === undefined || now - oldest.at < PATIENCE_MS)
  }

  asked(member: string): Asked {
    let known = this.#known.get(member)
    if (known === undefined) this.#known.set(member, (known = { open: new Set(), restsUntil: 0 }))
    const { open } = known
    const sent = { at: this.#clock.monotonic() }
    open.add(sent)
    return {
      ended: (hasAnswered) => {
        open.delete(sent)
        if (hasAnswered) known.restsUntil = 0
        else known.restsUntil = this.#clock.monotonic() + REST_MS
        if (open.size === 0 && hasAnswered) this.#known.delete(member)
      },
    }
  }
}
