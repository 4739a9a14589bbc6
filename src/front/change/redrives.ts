import type { CallLimit } from '../../async/index.js'
import type { SubmitAnswer, TimerEngine } from '../../engine/index.js'
import type { DeadLetter, HistoryNote, Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import {
  decodeDetails,
  freeDetails,
  encodeDetails,
  firingIdOf,
  firingKeyOf,
  handleOf,
  identityText,
  nameLimits,
  newIdentity,
  shardOf,
  type TimerHandle,
  type TimerName,
} from '../../timer/index.js'
import { PartialResults } from './partial-results.js'
import { outcomeOf } from '../outcome.js'
import type { SetRequest } from '../set/set-request.js'

/** The result of a redrive. */
export interface Redriven {
  /** How many dead letters were set again. */
  readonly count: number
  /** Those whose key already had a timer. That timer stays, and the letter was set under a generated key. */
  readonly beside: readonly RedrivenBeside[]
}

/** A redriven letter that got a new key, because a timer has its own. */
export interface RedrivenBeside {
  /** The id of the dead letter. */
  readonly id: string
  readonly kind: string
  /** The original key. */
  readonly of: string
  /** The generated key. */
  readonly key: string
  readonly handle: TimerHandle
}

/** The outcome for one letter; 'unknown' if another call has redriven it. */
export interface RedriveAnswer extends RedrivenBeside {
  readonly outcome: 'set' | 'unknown'
}

type Noted = (event: 'created', facts: { readonly dueAt: number }) => { readonly note?: HistoryNote }

/**
 * Sets dead letters again, each once, as timers that are due now and fire once, under the firing id of the occurrence
 * that died. So a receiver that has acted on one of its attempts recognises it. It never replaces a timer that has the
 * key now, such as the recurring timer whose occurrence died. Proven by test/front/handlers.test.ts.
 */
export class Redrives {
  readonly #engine: TimerEngine
  readonly #store: Store
  readonly #clock: Clock
  readonly #random: () => number
  readonly #noted: Noted

  constructor(parts: {
    engine: TimerEngine
    store: Store
    clock: Clock
    random: () => number
    noted: Noted
  }) {
    this.#engine = parts.engine
    this.#store = parts.store
    this.#clock = parts.clock
    this.#random = parts.random
    this.#noted = parts.noted
  }

  async redrive(batches: AsyncIterable<readonly DeadLetter[]>, limit: CallLimit): Promise<Redriven> {
    const results = new PartialResults<RedriveAnswer>()
    for await (const letters of batches) {
      const sets = letters.map((letter) => this.#setOf(letter, newIdentity(this.#random), letter.row.key))
      const answers = [...(await limit.selfEnding(this.#engine.submit(sets, limit)))]
      await this.#setBeside(letters, sets, answers, limit)
      const rows = letters.map(({ row }) => row)
      const isComplete = results.add(rows, answers, (answer, index) =>
        answerOf(letters[index]!, sets[index]!, answer),
      )
      if (!isComplete) break
    }
    return redrivenOf(results.all())
  }

  /** Sets each letter whose key is taken under another key. Replaces its entries in `sets` and `answers`. */
  async #setBeside(
    letters: readonly DeadLetter[],
    sets: SetRequest[],
    answers: SubmitAnswer[],
    limit: CallLimit,
  ): Promise<void> {
    const taken = [...answers.keys()].filter((index) => answers[index]!.outcome === 'conflict')
    if (taken.length === 0) return
    for (const index of taken) sets[index] = this.#besideOf(letters[index]!)
    const beside = taken.map((index) => sets[index]!)
    const given = await limit.selfEnding(this.#engine.submit(beside, limit))
    for (const [at, index] of taken.entries()) answers[index] = given[at]!
  }

  #besideOf(letter: DeadLetter): SetRequest {
    const { row } = letter
    const { shardCount } = this.#store
    const shard = shardOf(row, shardCount)
    for (;;) {
      const identity = newIdentity(this.#random)
      const key = keyBeside(row, identity)
      // The same write removes the letter, and a store may keep each shard's letters apart: stay in its shard.
      if (shardOf({ ...row, key }, shardCount) === shard) return this.#setOf(letter, identity, key)
    }
  }

  #setOf({ id, row }: DeadLetter, identity: number, key: string): SetRequest {
    const now = this.#clock.now()
    const {
      on: _on,
      offsetMs: _offsetMs,
      firstDueAt: _firstDueAt,
      lastAttempt: _lastAttempt,
      notAfter: _notAfter,
      ...details
    } = decodeDetails(freeDetails(row.details))
    return {
      type: 'set',
      namespace: row.namespace,
      kind: row.kind,
      key,
      identity,
      createdAt: now,
      dueAt: now,
      attempt: 0,
      occurrence: row.occurrence,
      payload: row.payload,
      tags: row.tags,
      details: encodeDetails({ ...details, redriveOf: { key: firingKeyOf(row), id: firingIdOf(row) } }),
      ifAbsent: true,
      fromDead: id,
      ...this.#noted('created', { dueAt: now }),
    }
  }
}

function answerOf({ id, row }: DeadLetter, set: SetRequest, answer: SubmitAnswer): RedriveAnswer {
  const outcome = outcomeOf(answer, ['set', 'unknown'])
  return { outcome, id, kind: row.kind, of: row.key, key: set.key, handle: handleOf(set) }
}

function redrivenOf(answers: readonly RedriveAnswer[]): Redriven {
  const redriven = answers.filter(({ outcome }) => outcome === 'set')
  const beside = redriven.filter(({ of, key }) => of !== key)
  return {
    count: redriven.length,
    beside: beside.map(({ id, kind, of, key, handle }) => ({ id, kind, of, key, handle })),
  }
}

/** A new key. It begins with the original key if it is short enough. */
function keyBeside({ key }: TimerName, identity: number): string {
  const beside = `${key}~${identityText(identity)}`
  return Buffer.byteLength(beside) <= nameLimits.keyBytes ? beside : identityText(identity)
}
