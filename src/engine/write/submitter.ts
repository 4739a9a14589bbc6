import type { CallLimit } from '../../async/index.js'
import { CarillonError, LimitError } from '../../error/index.js'
import type { RequestedOperation, SetColumns, ShardSetColumns, Store } from '../../store/index.js'
import { shardOf } from '../../timer/index.js'
import { type Answer, failed, type SubmitAnswer } from '../answer.js'
import type { EngineSettings } from '../settings.js'
import type { ShardEngine } from '../shard-engine.js'
import type { InboxClient } from './inbox-client.js'
import type { OwnerRouter } from './owner-router.js'

interface SubmitterParts {
  readonly store: Store
  readonly settings: EngineSettings
  /** The shards that this instance owns now. */
  readonly shards: ReadonlyMap<number, ShardEngine>
  readonly ownerRouter: OwnerRouter
  readonly inboxClient: InboxClient
}

/**
 * Brings operations to the owners of their shards: to this instance's own shards, or to other instances. What this
 * instance could not write because it lost the shard goes to the next owner.
 */
export class Submitter {
  readonly #parts: SubmitterParts
  readonly #shardCount: number

  constructor(parts: SubmitterParts) {
    this.#parts = parts
    this.#shardCount = parts.store.shardCount
  }

  /** Once the call is over, `limit` has ended: what was not sent by then never is. */
  submit(operations: readonly RequestedOperation[], limit?: CallLimit): Promise<readonly SubmitAnswer[]> {
    if (operations.length === 0) return Promise.resolve([])
    if (limit?.isOver === true) return Promise.resolve(operations.map(() => failed(limit.notDone())))
    // The answer of a single shard is passed on as it is, without a promise for each step.
    if (this.#shardCount === 1) return this.#submitTo(0, operations, limit)
    if (operations.length === 1)
      return this.#submitTo(shardOf(operations[0]!, this.#shardCount), operations, limit)
    return this.#submitAll(operations, limit)
  }

  async #submitAll(
    operations: readonly RequestedOperation[],
    limit: CallLimit | undefined,
  ): Promise<readonly SubmitAnswer[]> {
    const answers = new Array<SubmitAnswer>(operations.length)
    const submit = async (shard: number, batch: ShardBatch): Promise<void> => {
      const given = await this.#submitSafely(shard, batch.operations, limit)
      for (let at = 0; at < given.length; at++) answers[batch.indexes[at]!] = given[at]!
    }
    const batches = batchesOf(operations, this.#shardCount)
    await Promise.all(Array.from(batches, ([shard, batch]) => submit(shard, batch)))
    return answers
  }

  /** As `submit`, of plain sets. If all of them are new timers of this instance's shards, answers their revisions. */
  async submitPlain(sets: SetColumns, limit?: CallLimit): Promise<Float64Array | readonly SubmitAnswer[]> {
    if (limit?.isOver === true) return Array.from({ length: sets.length }, () => failed(limit.notDone()))
    const revisions = new Float64Array(sets.length)
    const others: { readonly indexes: Uint32Array; readonly answers: readonly SubmitAnswer[] }[] = []
    const submit = async (shard: number, indexes: Uint32Array): Promise<void> => {
      const given = await this.#submitColumns(shard, { sets, indexes }, limit)
      if (typeof given === 'number') {
        for (let at = 0; at < indexes.length; at++) revisions[indexes[at]!] = given + at
      } else others.push({ indexes, answers: given })
    }
    await Promise.all(sets.byShard(this.#shardCount).map(({ shard, indexes }) => submit(shard, indexes)))
    if (others.length === 0) return revisions
    const all = Array.from(revisions, (revision): SubmitAnswer => ({
      outcome: 'set',
      revision,
      replaced: undefined,
    }))
    for (const { indexes, answers } of others) {
      for (let at = 0; at < indexes.length; at++) all[indexes[at]!] = answers[at]!
    }
    return all
  }

  /** Plain sets of one shard. If all of them are new timers, answers the revision of the first. */
  async #submitColumns(
    shard: number,
    columns: ShardSetColumns,
    limit: CallLimit | undefined,
  ): Promise<number | readonly SubmitAnswer[]> {
    const { sets, indexes } = columns
    const engine = this.#parts.shards.get(shard)
    if (engine === undefined || !this.#hasRoom(engine, indexes.length))
      return await this.#submitSafely(shard, sets.operations(indexes), limit)
    const given = await engine.submitPlain(columns, limit)
    if (typeof given === 'number') return given
    return await orFailed(given.length, async () =>
      this.#parts.inboxClient.completeAnswers(shard, sets.operations(indexes), given, limit),
    )
  }

  /** Carries out operations for another instance; undefined, and none of it, if the shard is not here. */
  async submitFor(
    shard: number,
    operations: readonly RequestedOperation[],
    limit: CallLimit,
  ): Promise<readonly Answer[] | undefined> {
    const engine = this.#parts.shards.get(shard)
    if (engine === undefined) return undefined
    if (operations.some((operation) => shardOf(operation, this.#shardCount) !== shard)) return undefined
    return await this.#submitHere(engine, operations, limit)
  }

  /** An error in one shard is no answer for the others. */
  #submitSafely(
    shard: number,
    operations: readonly RequestedOperation[],
    limit: CallLimit | undefined,
  ): Promise<readonly SubmitAnswer[]> {
    return orFailed(operations.length, () => this.#submitTo(shard, operations, limit))
  }

  async #submitTo(
    shard: number,
    operations: readonly RequestedOperation[],
    limit: CallLimit | undefined,
  ): Promise<readonly SubmitAnswer[]> {
    const { shards, ownerRouter, inboxClient } = this.#parts
    const engine = shards.get(shard)
    if (engine === undefined) return await ownerRouter.ask(shard, operations, limit)
    const answers = await this.#submitHere(engine, operations, limit)
    return inboxClient.completeAnswers(shard, operations, answers, limit)
  }

  #submitHere(
    engine: ShardEngine,
    operations: readonly RequestedOperation[],
    limit: CallLimit | undefined,
  ): Promise<readonly Answer[]> {
    if (this.#hasRoom(engine, operations.length)) return engine.submit(operations, limit)
    const { maxQueued } = this.#parts.settings
    const error = new LimitError(
      'engine-busy',
      `${engine.queued} operations wait for shard ${engine.shard} already, of at most ${maxQueued}`,
    )
    return Promise.resolve(operations.map(() => failed(error)))
  }

  /** Whether `count` more operations may wait for a shard. */
  #hasRoom(engine: ShardEngine, count: number): boolean {
    return engine.queued === 0 || engine.queued + count <= this.#parts.settings.maxQueued
  }
}

/** The operations of one call on one shard. */
interface ShardBatch {
  readonly operations: RequestedOperation[]
  /** The index of each in the call. */
  readonly indexes: number[]
}

async function orFailed(
  count: number,
  submit: () => Promise<readonly SubmitAnswer[]>,
): Promise<readonly SubmitAnswer[]> {
  try {
    return await submit()
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    return Array.from({ length: count }, () => failed(error))
  }
}

// A function of its own: V8 recompiles a loop at the beginning of a longer function in call after call.
function batchesOf(operations: readonly RequestedOperation[], shardCount: number): Map<number, ShardBatch> {
  const batches = new Map<number, ShardBatch>()
  for (let index = 0; index < operations.length; index++) {
    const operation = operations[index]!
    const shard = shardOf(operation, shardCount)
    const batch = batches.get(shard)
    if (batch === undefined) batches.set(shard, { operations: [operation], indexes: [index] })
    else {
      batch.operations.push(operation)
      batch.indexes.push(index)
    }
  }
  return batches
}
