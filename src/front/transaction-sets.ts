import { InvalidInputError, StoreError } from '../error/index.js'
import type { Request } from '../store/index.js'
import { handleOf, identityText, newIdentity, type SetTimer, shardOf } from '../timer/index.js'
import type { TimerKind } from './kind.js'
import type { SetManyRow, SetOptions } from './set-request.js'
import type { Sets, SetsParts } from './sets.js'

/** How long the answer of the owner is kept, which nobody waits for. */
const ANSWER_MS = 60_000

/**
 * Sets timers as a part of a transaction of the caller's: they are there if and when that is committed, and of a
 * transaction that is rolled back nothing is left. The owner of a timer stores it after the commit, so a condition
 * could not be answered for here and is refused.
 */
export class TransactionSets {
  readonly #parts: SetsParts
  readonly #sets: Sets
  readonly #transaction: unknown

  constructor(parts: SetsParts, sets: Sets, transaction: unknown) {
    if (parts.store.appendWith === undefined) {
      throw new StoreError(
        'no-transactions',
        `a ${parts.store.name} store has no transactions that the caller could take part in; PostgreSQL has`,
      )
    }
    this.#parts = parts
    this.#sets = sets
    this.#transaction = transaction
  }

  /** Sets a timer with the transaction; one of the same key is replaced. Without a key one is made up. */
  async set<Payload>(
    kind: TimerKind<Payload>,
    key: string | undefined,
    options: SetOptions<Payload>,
  ): Promise<SetTimer> {
    const [answer] = await this.#set(kind, [options], () => key)
    return answer!
  }

  /** Sets many timers of one kind with the transaction; one answer each. */
  async setMany<Payload>(
    kind: TimerKind<Payload>,
    rows: readonly SetManyRow<Payload>[],
  ): Promise<readonly SetTimer[]> {
    return await this.#set(kind, rows, (index) => rows[index]!.key)
  }

  async #set<Payload>(
    kind: TimerKind<Payload>,
    rows: readonly SetOptions<Payload>[],
    keyOf: (index: number) => string | undefined,
  ): Promise<readonly SetTimer[]> {
    const { clock, random, store, kinds, quota } = this.#parts
    if (rows.some((row) => row.ifAbsent !== undefined || row.ifRevision !== undefined)) {
      throw new InvalidInputError(
        'invalid-option',
        'a set in a transaction cannot be conditional: whether it holds is known only after the commit',
      )
    }
    const operations = await this.#sets.requestsOf(kind, rows, keyOf)
    const requests = operations.map((operation): Request => ({
      id: `tx-${identityText(newIdentity(random))}${identityText(newIdentity(random))}`,
      shard: shardOf(operation, store.shardCount),
      deadline: clock.now() + ANSWER_MS,
      operation,
    }))
    if (!kinds.isStored(kind.name)) await kinds.remember(kind.name)
    const append = (): Promise<unknown> => store.appendWith!(this.#transaction, requests)
    await (quota.isLimited ? quota.within(operations, append) : append())
    return operations.map((operation) => ({
      outcome: 'set',
      key: operation.key,
      handle: handleOf(operation),
      dueAt: operation.dueAt,
      revision: undefined,
    }))
  }
}
