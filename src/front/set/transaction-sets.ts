import { InvalidInputError, StoreError } from '../../error/index.js'
import type { InboxRequest } from '../../store/index.js'
import {
  handleOf,
  identityText,
  keyOfRow,
  keyOfSet,
  newIdentity,
  type SetTimer,
  shardOf,
} from '../../timer/index.js'
import { TRANSACTION_ANSWER_MS, TRANSACTION_MAX_ANSWER_MS } from '../defaults.js'
import type { TimerKind, UnknownKind } from '../kind/kind.js'
import type { SetManyRow, SetOptions } from './set-request.js'
import type { Sets, SetsParts } from './sets.js'

/**
 * Sets timers as a part of the caller's transaction. They exist once it commits, and leave no trace if it rolls back.
 * The timer's owner stores it after the commit, so the result of a condition cannot be known here: conditions are
 * refused. Proven by test/store/postgres/caller-transaction.test.ts.
 */
export class TransactionSets {
  readonly #parts: SetsParts
  readonly #sets: Sets
  readonly #transaction: unknown

  constructor(parts: SetsParts, sets: Sets, transaction: unknown) {
    if (parts.store.appendWith === undefined) {
      throw new StoreError(
        'no-transactions',
        `using needs a PostgreSQL store: these timers are in a ${parts.store.name} store`,
      )
    }
    this.#parts = parts
    this.#sets = sets
    this.#transaction = transaction
  }

  /** Sets a timer in the transaction. It replaces the timer with the same key. Without a key, it gets a new one. */
  set<Payload, Input>(
    kind: TimerKind<Payload, Input>,
    key: string,
    options: SetOptions<NoInfer<Input>>,
  ): Promise<SetTimer>
  set<Payload, Input>(kind: TimerKind<Payload, Input>, options: SetOptions<NoInfer<Input>>): Promise<SetTimer>
  async set(
    kind: UnknownKind,
    keyOrOptions: string | SetOptions<unknown>,
    options: SetOptions<unknown> = keyOrOptions as SetOptions<unknown>,
  ): Promise<SetTimer> {
    const key = keyOfSet(kind, keyOrOptions, options)
    const [answer] = await this.#set(kind, [options], () => key)
    return answer!
  }

  /** Sets many timers of one kind in the transaction. The results have the order of the rows. */
  async setMany<Payload, Input>(
    kind: TimerKind<Payload, Input>,
    rows: readonly SetManyRow<NoInfer<Input>>[],
  ): Promise<readonly SetTimer[]> {
    return await this.#set(kind, rows, (index) => keyOfRow(kind, rows[index]!))
  }

  async #set(
    kind: UnknownKind,
    rows: readonly SetOptions<unknown>[],
    keyOf: (index: number) => string | undefined,
  ): Promise<readonly SetTimer[]> {
    const { clock, random, store, kinds, quota } = this.#parts
    if (rows.some((row) => row.ifAbsent !== undefined || row.ifRevision !== undefined)) {
      throw new InvalidInputError(
        'invalid-option',
        'a set in a transaction cannot have ifAbsent or ifRevision: their result is known only after the commit',
      )
    }
    const operations = await this.#sets.requestsOf(kind, rows, keyOf)
    let requests = operations.map((operation): InboxRequest => ({
      id: `tx-${identityText(newIdentity(random))}${identityText(newIdentity(random))}`,
      shard: shardOf(operation, store.shardCount),
      deadline: 0,
      operation,
    }))
    if (!kinds.isStored(kind.name)) await kinds.remember(kind.name)
    const append = async (): Promise<void> => {
      // An inbox refuses a deadline before the latest one it has forgotten, which the store's clock, if it was ahead
      // once, can put in the future. So ask again with twice the time.
      for (let forMs = TRANSACTION_ANSWER_MS; requests.length > 0; forMs *= 2) {
        if (forMs > TRANSACTION_MAX_ANSWER_MS)
          throw new StoreError('store-unavailable', "the store's clock is ahead by more than a day")
        const deadline = clock.now() + forMs
        const dated = requests.map((request) => ({ ...request, deadline }))
        const answers = await store.appendWith!(this.#transaction, dated)
        requests = requests.filter((_, index) => answers[index] === 'expired')
      }
    }
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
