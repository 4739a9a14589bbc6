import type { Clock } from '../../time/index.js'
import type { TimerFiring } from '../timer-firing.js'
import type { AnswerOutcome } from './answer-outcome.js'
import { batchItemOf, messageIdOf } from './message-text.js'

export interface BatchPolicy {
  /** At most so many firings in a message. */
  readonly most: number
  /** How long a message waits for more; 0: it takes what comes at the same moment. */
  readonly waitMs: number
}

/** A firing in a batch: its id, its text, and where its outcome goes. */
export interface BatchItem {
  readonly firing: TimerFiring
  readonly id: string
  readonly text: string
  readonly resolve: (outcome: AnswerOutcome) => void
}

// A message is closed when it has become this long.
const FULL_CHARACTERS = 1_048_576

/** Gathers firings into messages: those that come at one moment, or within a little while, up to a number and a size. */
export class Batches {
  readonly #policy: BatchPolicy
  readonly #clock: Clock
  readonly #send: (items: readonly BatchItem[]) => void
  #items: BatchItem[] = []
  #characters = 0
  #isAwaited = false

  /** `send` tells each item its outcome, and does not throw. */
  constructor(policy: BatchPolicy, clock: Clock, send: (items: readonly BatchItem[]) => void) {
    this.#policy = policy
    this.#clock = clock
    this.#send = send
  }

  add(firing: TimerFiring): Promise<AnswerOutcome> {
    return new Promise((resolve) => {
      const id = messageIdOf(firing)
      const text = batchItemOf(id, firing)
      if (this.#characters + text.length > FULL_CHARACTERS) this.#close()
      this.#items.push({ firing, id, text, resolve })
      this.#characters += text.length
      if (this.#items.length >= this.#policy.most) this.#close()
      else this.#await()
    })
  }

  #await(): void {
    if (this.#isAwaited) return
    this.#isAwaited = true
    const end = (): void => {
      this.#isAwaited = false
      this.#close()
    }
    if (this.#policy.waitMs === 0) queueMicrotask(end)
    else this.#clock.wakeAfter(this.#policy.waitMs, end)
  }

  #close(): void {
    if (this.#items.length === 0) return
    const items = this.#items
    this.#items = []
    this.#characters = 0
    this.#send(items)
  }
}
