import { CarillonError } from './carillon-error.js'

/** What became of one of many: its answer, or the error it failed with. */
export type PartialRow<Answer> = { readonly kind: string; readonly key: string } & (
  | { readonly answer: Answer; readonly error?: undefined }
  | { readonly answer?: undefined; readonly error: CarillonError }
)

/**
 * Of what was asked for in one call, some was done and some was not. `rows` tells what became of each that was
 * tried, in their order; an error of the code 'unknown-outcome' among them may have been done. The rest,
 * `untried` of them, was not begun.
 */
export class PartialError<Answer = unknown> extends CarillonError {
  readonly rows: readonly PartialRow<Answer>[]
  readonly untried: number

  constructor(rows: readonly PartialRow<Answer>[], untried: number) {
    const failed = rows.filter(({ error }) => error !== undefined)
    const first = failed[0]?.error
    super(
      'partly-done',
      `${rows.length - failed.length} of ${rows.length + untried} were done, ${failed.length} failed, ${untried} were not tried: ${first?.message ?? 'no reason is known'}`,
      { cause: first },
    )
    this.rows = rows
    this.untried = untried
  }
}
