import { InvalidInputError, StoreError } from '../../error/index.js'
import {
  type InboxRequest,
  NO_DEADLINE,
  type RequestedOperation,
  type Store,
  type TransactionConnection,
} from '../../store/index.js'
import {
  handleOf,
  identityText,
  keyOfRow,
  keyOfSet,
  newIdentity,
  type SetTimer,
  shardOf,
  type TimerHandle,
} from '../../timer/index.js'
import type { Operations } from '../change/operations.js'
import type { AnyKind, TimerKind, UnknownKind } from '../kind/kind.js'
import type { Kinds } from '../kind/kinds.js'
import type { TimerNames } from '../kind/timer-names.js'
import type { NamespaceQuota } from '../set/namespace-quota.js'
import type { SetManyRow, SetOptions } from '../set/set-request.js'
import type { Sets } from '../set/sets.js'
import type { When } from '../when.js'

export interface TransactionTimersParts {
  readonly store: Store
  readonly random: () => number
  readonly kinds: Kinds
  readonly names: TimerNames
  readonly quota: NamespaceQuota
  readonly sets: Sets
  readonly operations: Operations
  /** Throws when the timers were stopped. */
  readonly checkOpen: () => void
}

/**
 * Sets, moves and cancels timers as a part of the caller's transaction. Its calls take effect once the transaction
 * commits, and leave no trace if it rolls back. The timer's owner applies them after the commit. So the result of a
 * condition, a move or a cancel cannot be known here: conditions are refused, and the others answer 'queued'. Proven by
 * test/store/postgres/caller-transaction.test.ts and test/orm/orm.test.ts.
 */
export class TransactionTimers {
  readonly #parts: TransactionTimersParts
  readonly #connection: TransactionConnection

  constructor(parts: TransactionTimersParts, connection: TransactionConnection) {
    if (parts.store.appendWith === undefined) {
      throw new StoreError(
        'no-transactions',
        `using needs a PostgreSQL store: these timers are in a ${parts.store.name} store`,
      )
    }
    this.#parts = parts
    this.#connection = connection
  }

  /**
   * Sets a timer in the transaction. It replaces the timer with the same key. Without a key, it gets a new one.
   *
   * @example
   * ```ts
   * await client.query('begin')
   * await client.query("insert into orders (id) values ('7')")
   * await timers.using(client).set(remind, 'order:7', { in: '5m', payload: { orderId: '7' } })
   * await client.query('commit')
   * ```
   */
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

  /** Moves a timer when the transaction commits. A timer that does not exist then, or has fired, stays as it is. */
  move(kind: AnyKind, key: string, when: When): Promise<'queued'>
  move(handle: TimerHandle, when: When): Promise<'queued'>
  async move(kindOrHandle: AnyKind, keyOrWhen: string | When, when?: When): Promise<'queued'> {
    const { names, operations, checkOpen } = this.#parts
    checkOpen()
    const isByKey = typeof keyOrWhen === 'string'
    const name = await names.nameOf(kindOrHandle, isByKey ? keyOrWhen : undefined)
    await this.#append([operations.move(name, operations.dueAt(isByKey ? when : keyOrWhen))])
    return 'queued'
  }

  /** Cancels a timer when the transaction commits. An attempt that has started by then goes on. */
  cancel(kind: AnyKind, key: string): Promise<'queued'>
  cancel(handle: TimerHandle): Promise<'queued'>
  async cancel(kindOrHandle: AnyKind, key?: string): Promise<'queued'> {
    const { names, operations, checkOpen } = this.#parts
    checkOpen()
    await this.#append([operations.cancel(await names.nameOf(kindOrHandle, key))])
    return 'queued'
  }

  async #set(
    kind: UnknownKind,
    rows: readonly SetOptions<unknown>[],
    keyOf: (index: number) => string | undefined,
  ): Promise<readonly SetTimer[]> {
    const { kinds, quota, sets } = this.#parts
    if (rows.some((row) => row.ifAbsent !== undefined || row.ifRevision !== undefined)) {
      throw new InvalidInputError(
        'invalid-option',
        'a set in a transaction cannot have ifAbsent or ifRevision: their result is known only after the commit',
      )
    }
    const operations = await sets.requestsOf(kind, rows, keyOf)
    if (!kinds.isStored(kind.name)) await kinds.remember(kind.name)
    const append = (): Promise<void> => this.#append(operations)
    await (quota.isLimited ? quota.within(operations, append) : append())
    return operations.map((operation) => ({
      outcome: 'set',
      key: operation.key,
      handle: handleOf(operation),
      dueAt: operation.dueAt,
      revision: undefined,
    }))
  }

  async #append(operations: readonly RequestedOperation[]): Promise<void> {
    const { store, random } = this.#parts
    const requests = operations.map((operation): InboxRequest<RequestedOperation> => ({
      id: `tx-${identityText(newIdentity(random))}${identityText(newIdentity(random))}`,
      shard: shardOf(operation, store.shardCount),
      // The commit may come at any time, and nobody waits for the answer.
      deadline: NO_DEADLINE,
      operation,
    }))
    await store.appendWith!(this.#connection, requests)
  }
}
