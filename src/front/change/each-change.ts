import type { CallLimit } from '../../async/index.js'
import type { SubmitAnswer, TimerEngine } from '../../engine/index.js'
import { CarillonError } from '../../error/index.js'
import type { RequestedOperation } from '../../store/index.js'
import { BATCH_ROWS } from '../defaults.js'
import { outcomeOf } from '../outcome.js'
import type { Outcomes } from '../read/outcomes.js'
import type { Named, TimerNames } from '../kind/timer-names.js'
import type { When } from '../when.js'
import type { Operations } from './operations.js'

/** A move or a cancel of one timer, by kind and key or by handle. */
export type TimerChange = ({ readonly kind: string; readonly key: string } | { readonly handle: string }) & {
  /** The new due time. Without it, the timer is cancelled. */
  readonly moveTo?: When
  readonly ifRevision?: number
}

/** The result of one change: its outcome, or why it was refused or failed. */
export type ChangeResult =
  | { readonly outcome: (typeof outcomes)[number]; readonly error?: never }
  | { readonly error: CarillonError; readonly outcome?: never }

const outcomes = ['moved', 'cancelled', 'ending', 'firing', 'settled', 'unknown', 'conflict'] as const

/**
 * Moves and cancels different timers, many operations in one call of the engine. A change that is refused or fails does
 * not affect the others. Proven by test/server/batch.test.ts and test/client/requests.test.ts.
 */
export class EachChange {
  readonly #engine: TimerEngine
  readonly #names: TimerNames
  readonly #operations: Operations
  readonly #outcomes: Outcomes

  constructor(parts: { engine: TimerEngine; names: TimerNames; operations: Operations; outcomes: Outcomes }) {
    this.#outcomes = parts.outcomes
    this.#engine = parts.engine
    this.#names = parts.names
    this.#operations = parts.operations
  }

  /** One result for each change, in order. When the call is over, changes that were not sent are not done. */
  async apply(changes: readonly TimerChange[], limit: CallLimit): Promise<readonly ChangeResult[]> {
    const results = new Array<ChangeResult>(changes.length)
    const indexes: number[] = []
    const operations: RequestedOperation[] = []
    // A kind that only the store may know is looked up once.
    const unknownKinds = new Map<string, CarillonError>()
    for (const [index, change] of changes.entries()) {
      try {
        operations.push(this.#operationOf(await this.#nameOf(change, unknownKinds, limit), change))
        indexes.push(index)
      } catch (error) {
        if (!(error instanceof CarillonError)) throw error
        results[index] = { error }
      }
    }
    for (let at = 0; at < operations.length; at += BATCH_ROWS) {
      const batch = operations.slice(at, at + BATCH_ROWS)
      const given = await this.#engine.submit(batch, limit)
      // If the call is over before the store says more, what the owners know is true all the same.
      const answers = (await limit.orOver(this.#outcomes.completeAnswers(batch, given))) ?? given
      for (const [offset, answer] of answers.entries()) results[indexes[at + offset]!] = resultOf(answer)
    }
    return results
  }

  #operationOf(name: Named, { moveTo, ifRevision }: TimerChange): RequestedOperation {
    const condition = ifRevision === undefined ? {} : { ifRevision }
    return moveTo === undefined
      ? this.#operations.cancel(name, condition)
      : this.#operations.move(name, this.#operations.dueAt(moveTo), condition)
  }

  async #nameOf(
    change: TimerChange,
    unknownKinds: Map<string, CarillonError>,
    limit: CallLimit,
  ): Promise<Named> {
    if ('handle' in change) return await this.#names.nameOf(change.handle, undefined)
    const { kind, key } = change
    const known = unknownKinds.get(kind)
    if (known !== undefined) throw known
    try {
      const named = this.#names.nameOf(kind, key)
      return named instanceof Promise ? await limit.orNotDone(named) : named
    } catch (error) {
      if (error instanceof CarillonError && error.code === 'unknown-kind') unknownKinds.set(kind, error)
      throw error
    }
  }
}

function resultOf(answer: SubmitAnswer): ChangeResult {
  return answer.outcome === 'failed' ? { error: answer.error } : { outcome: outcomeOf(answer, outcomes) }
}
