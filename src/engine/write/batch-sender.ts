import { StoreError } from '../../error/index.js'
import {
  needsSpace,
  type OperationAnswer,
  type OwnerWrite,
  type RequestedOperation,
  type RowVersion,
  SetColumnsWrite,
  type Store,
  type WriteAnswer,
} from '../../store/index.js'
import { nameKey, type Place, type TimerRow } from '../../timer/index.js'
import { Sleeper } from '../../async/index.js'
import type { Clock } from '../../time/index.js'
import { failed } from '../answer.js'
import type { EngineCounts } from '../counts.js'
import type { Attempts } from '../fire/attempts.js'
import type { Loader } from '../load/loader.js'
import { LostShardError, RetryableCallError, UnknownOutcomeError } from '../own/call-errors.js'
import type { Ownership } from '../own/ownership.js'
import type { MemoryUpdater } from './memory-updater.js'
import type { StartHolds } from './start-holds.js'
import type { PlainTask, Sent } from './task.js'

interface BatchSenderParts {
  readonly store: Store
  readonly clock: Clock
  readonly ownership: Ownership
  readonly attempts: Attempts
  readonly startHolds: StartHolds
  readonly loader: Loader
  readonly counts: EngineCounts
  readonly memory: MemoryUpdater
  /** The store has refused these tasks because requests wait in the inbox. */
  readonly onInboxFirst: (tasks: readonly Sent[]) => void
}

/**
 * Sends batches of operations to the store until each operation has its answer. An operation below the settled level is
 * sent again higher up (rule 4). A write of unknown outcome is looked up by the rows of its names, and what is missing
 * is sent again (rule 5).
 *
 * Proven by test/engine/ownership.test.ts and the mutants 'a call of unknown outcome is sent again without a new epoch', 'plain sets
 * of unknown outcome count as written', "the owner's operations overtake requests in the inbox".
 */
export class BatchSender {
  readonly #parts: BatchSenderParts
  readonly #sleeper: Sleeper

  constructor(parts: BatchSenderParts) {
    this.#parts = parts
    this.#sleeper = new Sleeper(parts.clock)
  }

  stop(): void {
    this.#sleeper.cancelAll()
  }

  /** Sends a batch until all of it is answered, and then lets rows start that were held for it. */
  async send(batch: readonly Sent[]): Promise<void> {
    const { attempts, startHolds, loader } = this.#parts
    let left = batch
    // The caller may read the answer to its request before this process gets the store's answer to the write. So what a
    // request replaces must not start meanwhile. Moves and cancels hold their rows already.
    const replacing = batch.filter(({ asked, request }) => asked.type === 'set' && request !== undefined)
    for (const { asked } of replacing) startHolds.holdName(asked)
    try {
      while (left.length > 0) left = await this.#sendOnce(left)
    } finally {
      for (const { held } of batch) {
        if (held !== undefined) attempts.unpark(startHolds.release(held.revision))
      }
      for (const { asked } of replacing) attempts.unpark(startHolds.releaseName(asked))
      attempts.setAlarm()
      loader.onRowsAdded()
    }
  }

  /** Sends set columns once. Answers what has to be sent again. */
  async sendColumns(task: PlainTask): Promise<readonly Sent[]> {
    const { loader, memory, ownership } = this.#parts
    await ownership.whenFenced()
    if (task.isGivenUp) return []
    const write = new SetColumnsWrite(task.columns, loader.floor, !task.mayPassInbox)
    task.isSent = true
    try {
      const answer = await this.#call(write, write.length)
      if (answer.newFrom === undefined) return this.#applyEach(task.sent(write), answer)
      memory.applyNewColumns(task, write, answer.newFrom, answer.readLevel)
      task.areNew(answer.newFrom)
      return []
    } catch (error) {
      task.isSent = mayBeWritten(error)
      return await this.#recover(() => task.sent(write), error)
    }
  }

  find(names: readonly RequestedOperation[]): Promise<readonly (TimerRow | undefined)[]> {
    const { ownership, store } = this.#parts
    return ownership.retrying('find', () => store.find(names), this.#sleeper)
  }

  /** Sends a batch once. Answers what has to be sent again. */
  async #sendOnce(given: readonly Sent[]): Promise<readonly Sent[]> {
    await this.#parts.ownership.whenFenced()
    // What was given up until now is not sent (promise 21).
    const batch = given.some(({ isGivenUp }) => isGivenUp)
      ? given.filter(({ isGivenUp }) => !isGivenUp)
      : given
    if (batch.length === 0) return []
    markSent(batch, true)
    const operations = batch.map(({ operation }) => operation)
    const ifInboxEmpty = !batch[0]!.mayPassInbox
    try {
      const answer = await this.#call({ operations, ifInboxEmpty }, operations.length)
      if (answer.newFrom === undefined) return this.#applyEach(batch, answer)
      this.#parts.memory.applyNew(batch, answer.newFrom, answer.readLevel)
      return []
    } catch (error) {
      markSent(batch, mayBeWritten(error))
      return await this.#recover(() => batch, error)
    }
  }

  async #call(write: OwnerWrite, count: number): Promise<WriteAnswer> {
    const { ownership, store, counts } = this.#parts
    const answer = await ownership.call('write', (fence) => store.write(fence, write))
    counts.writes++
    counts.operations += count
    return answer
  }

  /** Applies each answer. Answers what has to be sent again. */
  #applyEach(batch: readonly Sent[], { answers, readLevel }: WriteAnswer): readonly Sent[] {
    const { memory } = this.#parts
    const again: Sent[] = []
    for (let index = 0; index < batch.length; index++) {
      const sent = batch[index]!
      const result = answers[index]!
      if (result.outcome === 'below-level') again.push(this.#raised(sent, result.settledLevel))
      else memory.apply(sent, result, readLevel)
    }
    return again
  }

  /** A write has failed. Answers what has to be sent again. */
  async #recover(batch: () => readonly Sent[], error: unknown): Promise<readonly Sent[]> {
    const { ownership, onInboxFirst } = this.#parts
    if (error instanceof UnknownOutcomeError) return await this.#resolve(batch())
    if (error instanceof StoreError && error.code === 'inbox-first') {
      onInboxFirst(batch())
      return []
    }
    const isFull = error instanceof RetryableCallError && error.isFull
    const left = isFull ? await this.#withoutGrowth(batch(), error.cause as StoreError) : batch()
    if (left.length > 0) await ownership.waitToRetry(error, this.#sleeper)
    return left.map((sent) => this.#raised(sent, ownership.settledLevel))
  }

  /**
   * The store is full. The callers that would add to it are told so at once. What frees space is sent alone, because the
   * store keeps a reserve for it. Answers what has to be sent again: requests, which only an answer removes from the inbox.
   */
  async #withoutGrowth(batch: readonly Sent[], error: StoreError): Promise<readonly Sent[]> {
    const freeing = batch.filter(({ operation }) => !needsSpace(operation))
    const growing = batch.filter(({ operation }) => needsSpace(operation))
    for (const sent of growing) if (sent.request === undefined) sent.answer(failed(error))
    const requested = growing.filter(({ request }) => request !== undefined)
    if (growing.length === 0) return freeing
    let left: readonly Sent[] = freeing
    while (left.length > 0) left = await this.#sendOnce(left)
    return requested
  }

  /** Finds out what a write of unknown outcome has done. The epoch was raised, so it is final. Answers what is missing. */
  async #resolve(batch: readonly Sent[]): Promise<readonly Sent[]> {
    const { ownership, memory } = this.#parts
    const rows = await this.find(batch.map(({ asked }) => asked))
    const again: Sent[] = []
    const { readLevel } = ownership.row
    const written = new Set(
      batch.flatMap((sent, index) => (resultOf(sent, rows[index]) ? [nameKey(sent.asked)] : [])),
    )
    for (const [index, sent] of batch.entries()) {
      const result = resultOf(sent, rows[index])
      if (result === undefined && written.has(nameKey(sent.asked))) {
        // A later set of the same write has replaced it. A write is atomic, so all of it was written.
        sent.answer({ outcome: 'set', revision: undefined, replaced: undefined })
        continue
      }
      if (result === undefined) {
        again.push(this.#raised(sent, ownership.settledLevel))
        continue
      }
      // Nobody knows which row the set has replaced, but every older version is stale.
      if (result.outcome === 'set') memory.dropOlder(sent.asked, result.place.revision)
      memory.apply(sent, result, readLevel)
    }
    return again
  }

  /** The same operation, which was not written, with a position that is not below a settled level. */
  #raised(sent: Sent, level: Place): Sent {
    sent.isSent = false
    const { operation } = sent
    if (operation.type !== 'set' && operation.type !== 'move') return sent
    const floor = Math.max(level.position, this.#parts.ownership.settledLevel.position)
    sent.operation = { ...operation, position: Math.max(operation.dueAt, floor) }
    return sent
  }
}

function markSent(batch: readonly Sent[], isSent: boolean): void {
  for (const sent of batch) sent.isSent = isSent
}

/** Whether a call that failed like this may have happened. */
function mayBeWritten(error: unknown): boolean {
  return error instanceof UnknownOutcomeError || error instanceof LostShardError
}

/** How an operation ended, judged by the current row; undefined when it was not carried out. */
function resultOf({ operation, held }: Sent, row: TimerRow | undefined): OperationAnswer | undefined {
  switch (operation.type) {
    case 'answer':
      return undefined
    case 'set':
      return row?.identity === operation.identity
        ? { outcome: 'set', place: row, replaced: undefined }
        : undefined
    case 'cancel':
      if (held === undefined || row?.identity === held.identity) return undefined
      return { outcome: 'cancelled', removed: held satisfies RowVersion }
    case 'move': {
      if (held === undefined || row?.identity !== held.identity || row.revision === held.revision)
        return undefined
      const isOurs = row.dueAt === operation.dueAt && row.position === operation.position
      return isOurs ? { outcome: 'moved', row, from: held } : undefined
    }
  }
}
