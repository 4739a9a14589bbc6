import type { CarillonError } from '../error/index.js'
import { MAX_LEASE_BATCH_ROWS } from './defaults.js'
import type { HttpCalls } from './http-calls.js'
import { errorOf } from './problem-error.js'
import type { BatchAnswer, LeaseAnswer, LeaseAnswered } from './wire.js'

/**
 * Sends the answers of a worker for many leases, up to 1,000 in a request. Rows that fail for a temporary reason are sent
 * again, like any other call. Proven by test/client/lease-answers.test.ts.
 */
export class LeaseBatches {
  readonly #calls: HttpCalls

  constructor(calls: HttpCalls) {
    this.#calls = calls
  }

  /** One result for each answer, in order. If a whole request fails, each of its rows has its error. */
  async send(answers: readonly LeaseAnswer[]): Promise<readonly LeaseAnswered[]> {
    const results: LeaseAnswered[] = []
    for (let at = 0; at < answers.length; at += MAX_LEASE_BATCH_ROWS)
      results.push(...(await this.#sendBatch(answers.slice(at, at + MAX_LEASE_BATCH_ROWS))))
    return results
  }

  async #sendBatch(answers: readonly LeaseAnswer[]): Promise<readonly LeaseAnswered[]> {
    const results = new Array<LeaseAnswered>(answers.length)
    let open = [...answers.keys()]
    for (let attempt = 1; ; attempt++) {
      const given = await this.#request(open.map((index) => answers[index]!))
      const failed: number[] = []
      for (const [at, index] of open.entries()) {
        const answer = given instanceof Error ? undefined : given[at]!
        results[index] = answer === undefined ? { error: given as CarillonError } : resultOf(answer)
        if (answer?.outcome === 'failed') failed.push(index)
      }
      if (failed.length === 0 || attempt > this.#calls.retries) return results
      open = failed
      await this.#calls.pauseAfter(attempt)
    }
  }

  async #request(rows: readonly LeaseAnswer[]): Promise<readonly BatchAnswer[] | CarillonError> {
    const request = { method: 'POST', path: '/v1/leases/batch', body: rows.map(rowOf) } as const
    return await this.#calls.sendOr<readonly BatchAnswer[] | CarillonError>(
      request,
      (_, error) => error as CarillonError,
    )
  }
}

/** A date becomes epoch milliseconds. */
function rowOf(answer: LeaseAnswer): object {
  if (answer.do !== 'ack') return answer
  const { again, ...rest } = answer
  if (again === undefined) return rest
  return { ...rest, again: 'at' in again ? { at: Number(again.at) } : again }
}

function resultOf({ outcome, code, detail }: BatchAnswer): LeaseAnswered {
  if (code !== undefined) return { error: errorOf({ code, detail: detail ?? code }) }
  return { outcome: outcome as 'acked' | 'extended' | 'released' | 'stale' }
}
