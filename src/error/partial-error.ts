import { CarillonError } from './carillon-error.js'

/** The result of one row: its answer or its error. */
export type PartialRow<Answer> = { readonly kind: string; readonly key: string } & (
  | { readonly answer: Answer; readonly error?: undefined }
  | { readonly answer?: undefined; readonly error: CarillonError }
)

/**
 * Some rows of a call were done and some were not. `rows` has the result of each row that was tried, in order. A row
 * with the code 'unknown-outcome' may have been done. The last `untried` rows were not started.
 */
export class PartialError<Answer = unknown> extends CarillonError {
  readonly rows: readonly PartialRow<Answer>[]
  readonly untried: number

  constructor(rows: readonly PartialRow<Answer>[], untried: number) {
    const failed = rows.filter(({ error }) => error !== undefined)
    const first = failed[0]?.error
    super(
      'partly-done',
      `${rows.length - failed.length} of ${rows.length + untried} were done, ${failed.length} failed, ${untried} were not tried: ${first?.message ?? 'the reason is unknown'}`,
      { cause: first },
    )
    this.rows = rows
    this.untried = untried
  }
}
