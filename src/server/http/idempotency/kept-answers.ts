import type { Clock } from '../../../time/index.js'

interface Kept<Answer> {
  readonly answer: Answer
  readonly until: number
}

/**
 * Answers that are kept for a time, up to a number in all. If there are too many, the oldest of the namespace that has
 * the most is dropped: so a namespace cannot evict the answers of another that keeps fewer.
 *
 * Proven by test/server/kept-answers.test.ts.
 */
export class KeptAnswers<Answer> {
  readonly #clock: Clock
  readonly #limit: number
  readonly #ttlMs: number
  // In each namespace the oldest comes first, and all are kept for the same time.
  readonly #byNamespace = new Map<string, Map<string, Kept<Answer>>>()
  #size = 0

  constructor(parts: { clock: Clock; limit: number; ttlMs: number }) {
    this.#clock = parts.clock
    this.#limit = parts.limit
    this.#ttlMs = parts.ttlMs
  }

  get(namespace: string, name: string): Answer | undefined {
    const kept = this.#byNamespace.get(namespace)?.get(name)
    return kept === undefined || kept.until <= this.#clock.monotonic() ? undefined : kept.answer
  }

  put(namespace: string, name: string, answer: Answer): void {
    let answers = this.#byNamespace.get(namespace)
    if (answers === undefined) this.#byNamespace.set(namespace, (answers = new Map()))
    if (answers.delete(name)) this.#size--
    answers.set(name, { answer, until: this.#clock.monotonic() + this.#ttlMs })
    this.#size++
    this.#dropExpired(namespace, answers)
    while (this.#size > this.#limit) this.#dropOldest()
  }

  #dropExpired(namespace: string, answers: Map<string, Kept<Answer>>): void {
    const now = this.#clock.monotonic()
    for (const [name, { until }] of answers) {
      if (until > now) return
      this.#drop(namespace, answers, name)
    }
  }

  #dropOldest(): void {
    let most: [string, Map<string, Kept<Answer>>] | undefined
    for (const each of this.#byNamespace) if (most === undefined || each[1].size > most[1].size) most = each
    const [namespace, answers] = most!
    this.#drop(namespace, answers, answers.keys().next().value!)
  }

  #drop(namespace: string, answers: Map<string, Kept<Answer>>, name: string): void {
    answers.delete(name)
    this.#size--
    if (answers.size === 0) this.#byNamespace.delete(namespace)
  }
}
