import { setImmediate as atTurnEnd } from 'node:timers'
import type { Fence } from '../store.js'
import { int8Array } from './binary-array.js'

interface Waiting<Call, Answer> {
  readonly call: Call
  readonly weight: number
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** How calls share what is sent for them. */
export interface JointOptions<Call, Answer> {
  /** Sends calls together and answers each, in their order. What it rejects with, all of them get. */
  readonly send: (calls: readonly Call[]) => Promise<readonly Answer[]>
  /** How many may be under way at once; what comes meanwhile waits, and goes together. */
  readonly mostUnderWay: number
  /** What a call weighs, and what those that are sent together weigh at most; one alone may weigh more. */
  readonly weightOf: (call: Call) => number
  readonly mostWeight: number
}

/**
 * Lets calls that meet share a statement: those that come in one turn of the event loop, and those that come while
 * as many as may be are under way. An instance has dozens of shards, and what it does for them it does for all of
 * them at about the same time; a statement for each would cost the server more than what the statements say.
 */
export class JointCalls<Call, Answer> {
  readonly #options: JointOptions<Call, Answer>
  #waiting: Waiting<Call, Answer>[] = []
  #underWay = 0
  #isPlanned = false

  constructor(options: JointOptions<Call, Answer>) {
    this.#options = options
  }

  call(call: Call): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, weight: this.#options.weightOf(call), resolve, reject })
      if (this.#isPlanned) return
      this.#isPlanned = true
      atTurnEnd(() => {
        this.#isPlanned = false
        this.#sendWaiting()
      })
    })
  }

  #sendWaiting(): void {
    while (this.#waiting.length > 0 && this.#underWay < this.#options.mostUnderWay) void this.#sendNext()
  }

  async #sendNext(): Promise<void> {
    this.#underWay++
    const together = this.#take()
    try {
      const answers = await this.#options.send(together.map(({ call }) => call))
      for (let i = 0; i < together.length; i++) together[i]!.resolve(answers[i]!)
    } catch (error) {
      for (const { reject } of together) reject(error)
    }
    this.#underWay--
    if (!this.#isPlanned) this.#sendWaiting()
  }

  /** The first that waits, and those after it that fit. */
  #take(): Waiting<Call, Answer>[] {
    let weight = 0
    let count = 0
    while (count < this.#waiting.length) {
      weight += this.#waiting[count]!.weight
      if (count > 0 && weight > this.#options.mostWeight) break
      count++
    }
    return count === this.#waiting.length ? this.#waiting.splice(0) : this.#waiting.splice(0, count)
  }
}

/** Of calls for one shard the first: what the next would meet depends on that. */
export function firstOfShards<Call extends { readonly fence: Fence }>(calls: readonly Call[]): Call[] {
  const shards = new Set<number>()
  return calls.filter(({ fence }) => !shards.has(fence.shard) && shards.add(fence.shard))
}

/** The fences of calls, as the columns from `g_shard` to `g_settled_revision`. */
export function fenceColumns(calls: readonly { readonly fence: Fence }[]): Buffer[] {
  return [
    int8Array(calls, ({ fence }) => fence.shard),
    int8Array(calls, ({ fence }) => fence.epoch),
    int8Array(calls, ({ fence }) => fence.nonce),
    int8Array(calls, ({ fence }) => fence.settledLevel.position),
    int8Array(calls, ({ fence }) => fence.settledLevel.revision),
  ]
}
