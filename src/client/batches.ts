import { type CarillonError, PartialError, type PartialRow } from '../error/index.js'
import { parseHandle } from '../timer/index.js'
import { MAX_BATCH_CHARACTERS, MAX_BATCH_ROWS } from './defaults.js'
import type { HttpCalls } from './http-calls.js'
import { errorOf } from './problem-error.js'
import type { BatchAnswer, BatchRow } from './wire.js'

/**
 * Sends many changes in batches. Each batch is retried as a whole, with the same operation id. There is one answer for
 * each row, in order. If some rows failed, a `PartialError` lists which. Proven by test/client/client.test.ts.
 */
export class Batches {
  readonly #calls: HttpCalls

  constructor(calls: HttpCalls) {
    this.#calls = calls
  }

  async send<Answer>(
    rows: readonly BatchRow[],
    answerOf: (answer: BatchAnswer, key: string) => Answer,
    signal?: AbortSignal,
  ): Promise<readonly Answer[]> {
    const results: PartialRow<Answer>[] = []
    let isComplete = true
    for (const batch of batchesOf(rows)) {
      const answers = await this.#batch(batch, signal, results.length > 0)
      for (const [at, row] of batch.entries()) {
        const { kind, key } = 'handle' in row ? parseHandle(row.handle) : row
        const named = { kind, key }
        const answer = answers instanceof Error ? answers : answers[at]!
        const error = answer instanceof Error ? answer : errorIn(answer)
        if (error !== undefined) isComplete = false
        results.push(
          error === undefined
            ? { ...named, answer: answerOf(answer as BatchAnswer, key) }
            : { ...named, error },
        )
      }
      if (!isComplete) break
    }
    if (isComplete) return results.map(({ answer }) => answer!)
    // If all rows failed with the same code, throw that error.
    const [first] = results
    if (rows.length === results.length && results.every(({ error }) => error?.code === first?.error?.code))
      throw first!.error!
    throw new PartialError(results, rows.length - results.length)
  }

  /** If the first batch fails, the call fails. If a later one fails, its error becomes a part of the result. */
  async #batch(
    batch: readonly BatchRow[],
    signal: AbortSignal | undefined,
    isLater: boolean,
  ): Promise<readonly BatchAnswer[] | CarillonError> {
    const request = { method: 'POST', path: '/v1/batch', body: batch, signal } as const
    if (!isLater) return await this.#calls.send(request)
    return await this.#calls.sendOr<readonly BatchAnswer[] | CarillonError>(
      request,
      (_, error) => error as CarillonError,
    )
  }
}

function errorIn({ code, detail }: BatchAnswer): CarillonError | undefined {
  return code === undefined ? undefined : errorOf({ code, detail: detail ?? code })
}

function* batchesOf(rows: readonly BatchRow[]): Generator<readonly BatchRow[]> {
  let batch: BatchRow[] = []
  let characters = 0
  for (const row of rows) {
    const length = JSON.stringify(row).length + 1
    if (batch.length === MAX_BATCH_ROWS || (batch.length > 0 && characters + length > MAX_BATCH_CHARACTERS)) {
      yield batch
      batch = []
      characters = 0
    }
    batch.push(row)
    characters += length
  }
  if (batch.length > 0) yield batch
}
