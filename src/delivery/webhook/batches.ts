import type { Clock } from '../../time/index.js'
import type { TimerFiring } from '../timer-firing.js'
import type { AnswerOutcome } from './answer-outcome.js'
import { batchItemOf, messageIdOf } from './message-text.js'

export interface BatchPolicy {
  /** The most firings in a message. */
  readonly most: number
  /** How long a message waits for more firings; 0 for those of the same moment only. */
  readonly waitMs: number
}

/** A firing in a batch: its id, its JSON, and the callback for its outcome. */
export interface BatchItem {
  readonly firing: TimerFiring
  readonly id: string
  readonly text: string
  readonly resolve: (outcome: AnswerOutcome) => void
}

// A message does not become longer than this.
const FULL_CHARACTERS = 1_048_576

/** Collects firings into messages: those of one moment, or within `waitMs`, up to a number and a size. */
export class Batches {
  readonly #policy: BatchPolicy
  readonly #clock: Clock
  readonly #send: (items: readonly BatchItem[]) => void
  #items: BatchItem[] = []
  #characters = 0
  #isAwaited = false

  /** `send` resolves each item with its outcome, and does not throw. */
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
