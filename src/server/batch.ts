import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { FastifyRequest } from 'fastify'
import { CarillonError, InvalidInputError, LimitError, PartialError } from '../error/index.js'
import type { SetManyRow, SetTimer, Timers, When } from '../front/index.js'
import { type BatchAnswer, BatchRow } from './schema.js'
import { type NamedKinds, noCondition, setOptionsOf, tracedOptions } from './set-input.js'

const checker = TypeCompiler.Compile(BatchRow)

type Verb = 'set' | 'move' | 'cancel'

/**
 * Carries out the rows of a batch, in their order where it matters: neighbours that do the same go together, and
 * what comes after waits for them. One answer for each row, whatever becomes of the others.
 */
export class Batch {
  readonly #timers: Timers
  readonly #kinds: NamedKinds
  readonly #request: FastifyRequest

  constructor(timers: Timers, kinds: NamedKinds, request: FastifyRequest) {
    this.#timers = timers
    this.#kinds = kinds
    this.#request = request
  }

  async run(rows: readonly unknown[]): Promise<BatchAnswer[]> {
    const answers = new Array<BatchAnswer>(rows.length)
    const asked: BatchRow[] = []
    let places: number[] = []
    let verb: Verb = 'set'
    for (const [place, row] of rows.entries()) {
      if (!checker.Check(row)) {
        answers[place] = refusedRow(row)
        continue
      }
      const wanted = row.do ?? 'set'
      if (wanted !== verb && places.length > 0) {
        await this.#together(verb, asked, places, answers)
        places = []
      }
      verb = wanted
      asked[place] = row
      places.push(place)
    }
    if (places.length > 0) await this.#together(verb, asked, places, answers)
    return answers
  }

  async #together(
    verb: Verb,
    rows: readonly BatchRow[],
    places: readonly number[],
    answers: BatchAnswer[],
  ): Promise<void> {
    if (verb === 'set') {
      await Promise.all([...byKind(rows, places)].map(([kind, of]) => this.#setAll(kind, rows, of, answers)))
      return
    }
    await Promise.all(
      places.map(async (place) => {
        answers[place] = await this.#change(verb, rows[place]!)
      }),
    )
  }

  /** The fast way for all of a kind; row by row where one of them is refused. */
  async #setAll(
    kind: string,
    rows: readonly BatchRow[],
    places: readonly number[],
    answers: BatchAnswer[],
  ): Promise<void> {
    const options: SetManyRow<unknown>[] = []
    const good: number[] = []
    for (const place of places) {
      try {
        options.push(tracedOptions(rowOptions(rows[place]!), this.#request))
        good.push(place)
      } catch (error) {
        answers[place] = failedRow(rows[place]!, error)
      }
    }
    try {
      const set = await this.#timers.setMany(this.#kinds.of(kind), options)
      for (const [at, place] of good.entries()) answers[place] = setRow(kind, set.at(at)!)
    } catch (error) {
      if (error instanceof PartialError) {
        for (const [at, place] of good.entries()) answers[place] = partialRow(kind, error, at)
      } else if (isRefusal(error) && good.length > 1) {
        // Nothing was stored: all are checked before the first is. Each is tried by itself.
        for (const place of good) await this.#setAll(kind, rows, [place], answers)
      } else {
        for (const place of good) answers[place] = failedRow(rows[place]!, error)
      }
    }
  }

  async #change(verb: 'move' | 'cancel', row: BatchRow): Promise<BatchAnswer> {
    const { kind, key, ifRevision } = row
    try {
      if (key === undefined) throw new InvalidInputError('invalid-key', `a ${verb} needs a key`)
      const condition = ifRevision === undefined ? {} : { ifRevision }
      const outcome =
        verb === 'cancel'
          ? await this.#timers.cancel(kind, key, condition)
          : await this.#timers.move(kind, key, whenOf(row), condition)
      return { outcome, kind, key }
    } catch (error) {
      return failedRow(row, error)
    }
  }
}

function byKind(rows: readonly BatchRow[], places: readonly number[]): Map<string, number[]> {
  const kinds = new Map<string, number[]>()
  for (const place of places) {
    const { kind } = rows[place]!
    const of = kinds.get(kind)
    if (of === undefined) kinds.set(kind, [place])
    else of.push(place)
  }
  return kinds
}

function rowOptions(row: BatchRow): SetManyRow<unknown> {
  const { kind: _kind, do: _do, ...body } = row
  return setOptionsOf(body, noCondition)
}

function whenOf({ in: delay, at }: BatchRow): When {
  return { ...(delay !== undefined && { in: delay }), ...(at !== undefined && { at }) } as When
}

function isRefusal(error: unknown): boolean {
  return error instanceof InvalidInputError || error instanceof LimitError
}

function setRow(kind: string, { outcome, key, handle, dueAt, revision }: SetTimer): BatchAnswer {
  return { outcome, kind, key, handle, dueAt, ...(revision !== undefined && { revision }) }
}

function partialRow(kind: string, error: PartialError, at: number): BatchAnswer {
  const row = error.rows[at]
  if (row === undefined) return { outcome: 'failed', kind, code: error.code, detail: 'it was not tried' }
  if (row.error !== undefined) {
    return { outcome: 'failed', kind, key: row.key, code: row.error.code, detail: row.error.message }
  }
  return setRow(kind, row.answer as SetTimer)
}

function failedRow({ kind, key }: BatchRow, error: unknown): BatchAnswer {
  const named = { kind, ...(key !== undefined && { key }) }
  if (!(error instanceof CarillonError)) throw error
  const outcome = isRefusal(error) ? 'refused' : 'failed'
  return { outcome, ...named, code: error.code, detail: error.message }
}

function refusedRow(row: unknown): BatchAnswer {
  const first = checker.Errors(row).First()
  const detail = first === undefined ? 'it is not a row' : `${first.path || 'the row'}: ${first.message}`
  return { outcome: 'refused', code: 'invalid-body', detail }
}
