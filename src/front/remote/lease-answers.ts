import type { Client, LeaseAnswer } from '../../client/index.js'
import type { Clock } from '../../time/index.js'
import { MAX_LEASED_AT_ONCE, REMOTE_ANSWERS_AT_ONCE } from '../defaults.js'

interface WaitingAnswer {
  readonly answer: LeaseAnswer
  readonly resolve: (outcome: string) => void
  readonly reject: (error: Error) => void
}

/**
 * Sends the answers of this process for its leases. Answers of one turn of the event loop share a request. A few requests
 * are under way at once, and further answers wait and share the next one. So the number of requests follows the number
 * of round trips, not of firings. Proven by test/client/requests.test.ts and test/client/lease-answers.test.ts.
 */
export class LeaseAnswers {
  readonly #client: Pick<Client, 'answerLeases'>
  readonly #clock: Pick<Clock, 'turnEnd'>
  #waiting: WaitingAnswer[] = []
  #underWay = 0
  #isTurnOpen = false

  constructor(parts: { client: Pick<Client, 'answerLeases'>; clock: Pick<Clock, 'turnEnd'> }) {
    this.#client = parts.client
    this.#clock = parts.clock
  }

  /** Resolves with the outcome: 'acked', 'extended', 'released' or 'stale'. */
  send(answer: LeaseAnswer): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ answer, resolve, reject })
      if (!this.#isTurnOpen) void this.#sendAtTurnEnd()
    })
  }

  async #sendAtTurnEnd(): Promise<void> {
    this.#isTurnOpen = true
    await this.#clock.turnEnd()
    this.#isTurnOpen = false
    this.#sendWaiting()
  }

  #sendWaiting(): void {
    while (this.#waiting.length > 0 && this.#underWay < REMOTE_ANSWERS_AT_ONCE) {
      const batch = this.#waiting.slice(0, MAX_LEASED_AT_ONCE)
      this.#waiting = this.#waiting.slice(MAX_LEASED_AT_ONCE)
      void this.#sendBatch(batch)
    }
  }

  async #sendBatch(batch: readonly WaitingAnswer[]): Promise<void> {
    this.#underWay++
    try {
      const results = await this.#client.answerLeases(batch.map(({ answer }) => answer))
      for (const [index, { resolve, reject }] of batch.entries()) {
        const result = results[index]!
        if (result.error === undefined) resolve(result.outcome)
        else reject(result.error)
      }
    } catch (error) {
      for (const { reject } of batch) reject(error as Error)
    } finally {
      this.#underWay--
      this.#sendWaiting()
    }
  }
}
