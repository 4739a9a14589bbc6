import { setImmediate as atTurnEnd } from 'node:timers'
import type { Fence } from '../../store.js'

interface WaitingCall<Call, Answer> {
  readonly call: Call
  readonly weight: number
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

export interface CoalescerOptions<Call, Answer> {
  /** Sends calls together. It returns their answers in the same order. If it rejects, all of them fail. */
  readonly send: (calls: readonly Call[]) => Promise<readonly Answer[]>
  /** How many sends may run at once. Calls that come meanwhile wait, and share the next one. */
  readonly maxInFlight: number
  readonly weightOf: (call: Call) => number
  /** The most weight that one send carries. A single call may weigh more and is then sent alone. */
  readonly maxWeight: number
}

/**
 * Lets calls share a statement: those of one turn of the event loop, and those that come while `maxInFlight`
 * statements run. An instance has dozens of shards and does the same for all of them at about the same time. One
 * statement for each would cost the server more than the work itself.
 *
 * Proven by test/store/postgres/call-coalescer.test.ts and test/store/postgres/shared-statements.test.ts.
 */
export class CallCoalescer<Call, Answer> {
  readonly #options: CoalescerOptions<Call, Answer>
  #waiting: WaitingCall<Call, Answer>[] = []
  #inFlight = 0
  #isScheduled = false

  constructor(options: CoalescerOptions<Call, Answer>) {
    this.#options = options
  }

  call(call: Call): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, weight: this.#options.weightOf(call), resolve, reject })
      if (this.#isScheduled) return
      this.#isScheduled = true
      atTurnEnd(() => {
        this.#isScheduled = false
        this.#sendWaiting()
      })
    })
  }

  #sendWaiting(): void {
    while (this.#waiting.length > 0 && this.#inFlight < this.#options.maxInFlight) void this.#sendNext()
  }

  async #sendNext(): Promise<void> {
    this.#inFlight++
    const together = this.#takeNext()
    try {
      const answers = await this.#options.send(together.map(({ call }) => call))
      for (let i = 0; i < together.length; i++) together[i]!.resolve(answers[i]!)
    } catch (error) {
      for (const { reject } of together) reject(error)
    }
    this.#inFlight--
    if (!this.#isScheduled) this.#sendWaiting()
  }

  /** Removes the first waiting call, and those after it that fit into the same send. */
  #takeNext(): WaitingCall<Call, Answer>[] {
    let weight = 0
    let count = 0
    while (count < this.#waiting.length) {
      weight += this.#waiting[count]!.weight
      if (count > 0 && weight > this.#options.maxWeight) break
      count++
    }
    return count === this.#waiting.length ? this.#waiting.splice(0) : this.#waiting.splice(0, count)
  }
}

/** The first call of each shard. A second one depends on the effect of the first, so it cannot share a statement. */
export function firstOfEachShard<Call extends { readonly fence: Fence }>(calls: readonly Call[]): Call[] {
  const shards = new Set<number>()
  return calls.filter(({ fence }) => !shards.has(fence.shard) && shards.add(fence.shard))
}
