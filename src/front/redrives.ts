import type { Engine } from '../engine/index.js'
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

type Noted = (event: 'created', facts: { readonly dueAt: number }) => { readonly note?: HistoryNote }

/**
 * Sets dead letters again, each once, as timers that fire once and at once. A timer that has the key meanwhile,
 * such as the recurring one whose occurrence died, is never replaced.
 */
export class Redrives {
  readonly #engine: Engine
  readonly #store: Store
  readonly #clock: Clock
  readonly #random: () => number
  readonly #noted: Noted

  constructor(parts: { engine: Engine; store: Store; clock: Clock; random: () => number; noted: Noted }) {
    this.#engine = parts.engine
    this.#store = parts.store
    this.#clock = parts.clock
    this.#random = parts.random
    this.#noted = parts.noted
  }

  async redrive(letters: readonly DeadLetter[]): Promise<Redriven> {
    const own = letters.map((letter) => this.#setOf(letter, newIdentity(this.#random), letter.row.key))
    const answers = await this.#engine.submit(own)
    // 'unknown': somebody else has redriven it meanwhile.
    const outcomes = answers.map((answer) => outcomeOf(answer, ['set', 'conflict', 'unknown']))
    const taken = letters.filter((_, index) => outcomes[index] === 'conflict')
    const beside = taken.length === 0 ? [] : await this.#redriveBeside(taken)
    return { count: outcomes.filter((outcome) => outcome === 'set').length + beside.length, beside }
  }

  async #redriveBeside(letters: readonly DeadLetter[]): Promise<readonly RedrivenBeside[]> {
    const sets = letters.map((letter) => this.#besideOf(letter))
    const answers = await this.#engine.submit(sets)
    return letters.flatMap(({ id, row }, index) => {
      if (outcomeOf(answers[index]!, ['set', 'unknown']) === 'unknown') return []
      const set = sets[index]!
      return [{ id, kind: row.kind, of: row.key, key: set.key, handle: handleOf(set) }]
    })
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
    const { on: _on, firstDueAt: _firstDueAt, ...details } = decodeDetails(row.details)
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

/** A key that nobody has, and that shows whose dead letter it was where there is room for that. */
function keyBeside({ key }: TimerName, identity: number): string {
  const beside = `${key}~${identityText(identity)}`
  return Buffer.byteLength(beside) <= nameLimits.keyBytes ? beside : identityText(identity)
}
