import { type CarillonError, PartialError, type PartialRow } from '../error/index.js'
import type { HttpCalls } from './http-calls.js'
import { errorOf } from './problem-error.js'
import type { BatchAnswer, BatchRow } from './wire.js'

const MOST_ROWS = 1000
// A batch may weigh 8 MiB: this leaves room for what takes three bytes a character.
const MOST_CHARACTERS = 2_500_000

/**
 * Many changes, in batches that each are sent again as a whole under their operation id. One answer for each row, in
 * their order; where some were not done, a `PartialError` tells which.
 */
export class Batches {
  readonly #calls: HttpCalls

  constructor(calls: HttpCalls) {
    this.#calls = calls
  }

  async send<Answer>(
    rows: readonly BatchRow[],
    answerOf: (answer: BatchAnswer, row: BatchRow) => Answer,
    signal?: AbortSignal,
  ): Promise<readonly Answer[]> {
    const told: PartialRow<Answer>[] = []
    let isWell = true
    for (const batch of batchesOf(rows)) {
      const answers = await this.#batch(batch, signal, told.length > 0)
      for (const [at, row] of batch.entries()) {
        const named = { kind: row.kind, key: row.key }
        const answer = answers instanceof Error ? answers : answers[at]!
        const error = answer instanceof Error ? answer : errorIn(answer)
        if (error !== undefined) isWell = false
        told.push(
          error === undefined
            ? { ...named, answer: answerOf(answer as BatchAnswer, row) }
            : { ...named, error },
        )
      }
      if (!isWell) break
    }
    if (isWell) return told.map(({ answer }) => answer!)
    // What failed as a whole fails as one would have.
    const [first] = told
    if (rows.length === told.length && told.every(({ error }) => error?.code === first?.error?.code))
      throw first!.error!
    throw new PartialError(told, rows.length - told.length)
  }

  /** A batch that fails after others were done is a part of the whole; the first one's failure is the call's. */
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
    const weight = JSON.stringify(row).length + 1
    if (batch.length === MOST_ROWS || (batch.length > 0 && characters + weight > MOST_CHARACTERS)) {
      yield batch
      batch = []
      characters = 0
    }
    batch.push(row)
    characters += weight
  }
  if (batch.length > 0) yield batch
}
