import type { TimerName } from '../../timer/index.js'
import { RequestNames } from '../request-names.js'
import type { AppendAnswer, InboxRequest, OperationAnswer } from '../store.js'

type Outcome = OperationAnswer['outcome']

/**
 * The requests of a shard in order of arrival, and their outcomes until the deadline. A forgotten request must not be
 * accepted again, even if the clock is set back. So a request has expired if its deadline is not after all forgotten
 * deadlines.
 *
 * Proven by the chapter 'inbox' of the store contract and the mutant 'a request that the inbox has forgotten is accepted again'.
 */
export class MemoryInbox {
  readonly #requests = new Map<string, InboxRequest>()
  readonly #answers = new Map<string, { readonly outcome: Outcome; readonly deadline: number }>()
  readonly #names = new RequestNames()
  #forgottenUntil = -Infinity

  append(request: InboxRequest, now: number): AppendAnswer {
    this.#forget(now)
    if (this.#answers.has(request.id)) return 'answered-before'
    if (this.#requests.has(request.id)) return 'appended'
    if (request.deadline <= Math.max(now, this.#forgottenUntil)) return 'expired'
    this.#requests.set(request.id, request)
    this.#names.add(request)
    return 'appended'
  }

  get(id: string): InboxRequest | undefined {
    return this.#requests.get(id)
  }

  get isEmpty(): boolean {
    return this.#requests.size === 0
  }

  /** How many sets for a name wait. */
  countOf(name: TimerName): number {
    return this.#names.countOf(name)
  }

  oldest(limit: number): InboxRequest[] {
    const oldest: InboxRequest[] = []
    for (const request of this.#requests.values()) {
      if (oldest.length >= limit) break
      oldest.push(request)
    }
    return oldest
  }

  answer(request: InboxRequest, outcome: Outcome): void {
    this.#requests.delete(request.id)
    this.#names.remove(request)
    this.#answers.set(request.id, { outcome, deadline: request.deadline })
  }

  outcome(id: string, now: number): Outcome | undefined {
    const answer = this.#answers.get(id)
    return answer === undefined || answer.deadline <= now ? undefined : answer.outcome
  }

  #forget(now: number): void {
    for (const [id, answer] of this.#answers) {
      if (answer.deadline > now) break
      this.#answers.delete(id)
      this.#forgottenUntil = Math.max(this.#forgottenUntil, answer.deadline)
    }
  }
}
