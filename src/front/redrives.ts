import type { SubmitAnswer, TimerEngine } from '../engine/index.js'
import type { DeadLetter, HistoryNote, Store } from '../store/index.js'
import type { Clock } from '../time/index.js'
import {
  decodeDetails,
  encodeDetails,
  handleOf,
  identityText,
  nameLimits,
  newIdentity,
  shardOf,
  type TimerHandle,
  type TimerName,
} from '../timer/index.js'
import { Answered } from './answered.js'
import { outcomeOf } from './outcome.js'
import type { SetRequest } from './set-request.js'

/** What a redrive came to. */
export interface Redriven {
  /** How many dead letters were set again. */
  readonly count: number
  /** Those of them whose key has a timer, which stays as it is: they were set under a key that was made up. */
  readonly beside: readonly RedrivenBeside[]
}

export interface RedrivenBeside {
  /** The dead letter's. */
  readonly id: string
  readonly kind: string
  /** Whose dead letter it was. */
  readonly of: string
  /** Under which it was set again. */
  readonly key: string
  readonly handle: TimerHandle
}

/** What became of one; 'unknown' when somebody else has redriven it meanwhile. */
export interface RedriveAnswer extends RedrivenBeside {
  readonly outcome: 'set' | 'unknown'
}

type Noted = (event: 'created', facts: { readonly dueAt: number }) => { readonly note?: HistoryNote }

/**
 * Sets dead letters again, each once, as timers that fire once and at once. A timer that has the key meanwhile,
 * such as the recurring one whose occurrence died, is never replaced.
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

  async redrive(batches: AsyncIterable<readonly DeadLetter[]>): Promise<Redriven> {
    const answered = new Answered<RedriveAnswer>()
    for await (const letters of batches) {
      const sets = letters.map((letter) => this.#setOf(letter, newIdentity(this.#random), letter.row.key))
      const answers = [...(await this.#engine.submit(sets))]
      await this.#setBeside(letters, sets, answers)
      const rows = letters.map(({ row }) => row)
      const isWell = answered.add(rows, answers, (answer, index) =>
        answerOf(letters[index]!, sets[index]!, answer),
      )
      if (!isWell) break
    }
    return redrivenOf(answered.all())
  }

  /** Where the key has a timer, the letter is set under another; sets and answers are those of that then. */
  async #setBeside(
    letters: readonly DeadLetter[],
    sets: SetRequest[],
    answers: SubmitAnswer[],
  ): Promise<void> {
    const taken = [...answers.keys()].filter((index) => answers[index]!.outcome === 'conflict')
    if (taken.length === 0) return
    for (const index of taken) sets[index] = this.#besideOf(letters[index]!)
    const given = await this.#engine.submit(taken.map((index) => sets[index]!))
    for (const [at, index] of taken.entries()) answers[index] = given[at]!
  }

  #besideOf(letter: DeadLetter): SetRequest {
    const { row } = letter
    const { shardCount } = this.#store
    const shard = shardOf(row, shardCount)
    for (;;) {
      const identity = newIdentity(this.#random)
      const key = keyBeside(row, identity)
      // The letter goes in the same write, and a store may keep each shard's apart.
      if (shardOf({ ...row, key }, shardCount) === shard) return this.#setOf(letter, identity, key)
    }
  }

  #setOf({ id, row }: DeadLetter, identity: number, key: string): SetRequest {
    const now = this.#clock.now()
    const { on: _on, offsetMs: _offsetMs, firstDueAt: _firstDueAt, ...details } = decodeDetails(row.details)
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
      details: encodeDetails(details),
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

/** A key that nobody has, and that shows whose dead letter it was where there is room for that. */
function keyBeside({ key }: TimerName, identity: number): string {
  const beside = `${key}~${identityText(identity)}`
  return Buffer.byteLength(beside) <= nameLimits.keyBytes ? beside : identityText(identity)
}
