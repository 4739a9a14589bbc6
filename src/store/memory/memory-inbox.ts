import type { OperationAnswer, Request } from '../store.js'

type Outcome = OperationAnswer['outcome']

/** A shard's requests in the order of arrival, and what became of them, each remembered until its deadline. */
export class MemoryInbox {
  readonly #requests = new Map<string, Request>()
  readonly #answers = new Map<string, { readonly outcome: Outcome; readonly deadline: number }>()

  append(request: Request, now: number): 'appended' | 'answered-before' | 'expired' {
    this.#forget(now)
    if (this.#answers.has(request.id)) return 'answered-before'
    if (this.#requests.has(request.id)) return 'appended'
    if (request.deadline <= now) return 'expired'
    this.#requests.set(request.id, request)
    return 'appended'
  }

  get(id: string): Request | undefined {
    return this.#requests.get(id)
  }

  get isEmpty(): boolean {
    return this.#requests.size === 0
  }

  oldest(limit: number): Request[] {
    const oldest: Request[] = []
    for (const request of this.#requests.values()) {
      if (oldest.length >= limit) break
      oldest.push(request)
    }
    return oldest
  }

  answer(request: Request, outcome: Outcome): void {
    this.#requests.delete(request.id)
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
    }
  }
}
