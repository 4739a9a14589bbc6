import { setImmediate as atTurnEnd } from 'node:timers'
import { Turns } from '../../../async/index.js'
import { CarillonError, StateError, StoreError } from '../../../error/index.js'
import { commitDefaults } from '../defaults.js'
import { Batch } from './batch.js'
import { messageOf } from './disk-error.js'

const { maxBatchBytes } = commitDefaults

interface Call {
  /** What must be done in memory before a read; undefined for a change. */
  readonly prepare: ((batch: Batch) => void) | undefined
  readonly apply: (batch: Batch) => unknown
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
  answer: unknown
}

/** Makes the changes of a batch durable, or rejects. */
export type Commit = (batch: Batch) => Promise<void>

/**
 * Group commit. Calls are applied to memory one after another, in the order in which they come. Calls that arrive
 * together share one transaction, and the next transaction fills while one is being written. Each call is answered
 * only when everything that it saw or changed is on the disk.
 *
 * When a commit fails, it and all that was applied on top of it are undone and rejected. Once the store has failed for
 * good, every call is rejected, reads too: memory no longer matches the disk.
 *
 * Proven by test/store/file/failed-commit.test.ts, test/store/power/write-errors.test.ts and test/store/chaos.test.ts.
 */
export class Committer {
  readonly #commit: Commit
  readonly #afterUndo: () => void
  readonly #failure: () => Error | undefined
  readonly #turns = new Turns(() => new Promise((resolve) => void atTurnEnd(resolve)))
  #queue: Call[] = []
  #open = new Batch()
  #applied: Call[] = []
  #isTurnScheduled = false
  #isWriting = false
  #isAlone = false
  #isStopped = false
  #onWritten: (() => void) | undefined
  #idle: (() => void)[] = []

  /** `failure` returns the error that ended the store, if there is one. */
  constructor(commit: Commit, afterUndo: () => void, failure: () => Error | undefined) {
    this.#commit = commit
    this.#afterUndo = afterUndo
    this.#failure = failure
  }

  /**
   * Applies a change in its turn. If `apply` throws before it has changed anything, only this call is rejected. After
   * any other error it may be half applied, so the open transaction is undone.
   */
  run<Answer>(apply: (batch: Batch) => Answer): Promise<Answer> {
    return this.#queueCall(apply, undefined)
  }

  /**
   * Applies a read in its turn. It changes nothing, so whatever it throws rejects this call only, and never disturbs
   * the changes that share its transaction. `prepare` may change memory, as `apply` of a change does.
   */
  read<Answer>(apply: () => Answer, prepare: (batch: Batch) => void = () => undefined): Promise<Answer> {
    return this.#queueCall(apply, prepare)
  }

  #queueCall<Answer>(apply: (batch: Batch) => Answer, prepare: Call['prepare']): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      if (this.#isStopped) {
        reject(stopped())
        return
      }
      const failure = this.#failure()
      if (failure !== undefined) {
        reject(failure)
        return
      }
      this.#queue.push({
        prepare,
        apply,
        resolve: resolve as (answer: unknown) => void,
        reject,
        answer: undefined,
      })
      this.#scheduleTurn()
    })
  }

  /**
   * Runs a step of a long read in a turn of its own. It does not wait for the commits under way, so what it sees may
   * still be undone. It must change nothing.
   */
  async look<Answer>(step: () => Answer): Promise<Answer> {
    await this.#turns.next()
    while (this.#isAlone) await this.idle()
    const failure = this.#isStopped ? stopped() : this.#failure()
    if (failure !== undefined) throw failure
    return step()
  }

  /** Waits for the calls under way, and rejects later ones. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.idle()
  }

  /** Waits until no call is queued, applied or being written. */
  async idle(): Promise<void> {
    if (!this.#isWriting && this.#queue.length === 0 && this.#applied.length === 0) return
    await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  /** Runs `run` while nothing is applied or written. Calls wait meanwhile. Only one may run at a time. */
  async runAlone(run: () => Promise<void>): Promise<void> {
    // From here on no call is applied. So it ends under any load, as soon as those already applied are written.
    this.#isAlone = true
    if (this.#isWriting) await new Promise<void>((resolve) => (this.#onWritten = resolve))
    this.#isWriting = true
    try {
      await run()
    } finally {
      this.#isWriting = this.#isAlone = false
      this.#onWritten = undefined
      this.#rejectQueueIfFailed()
      if (this.#queue.length > 0) this.#scheduleTurn()
      else this.#resolveIdle()
    }
  }

  // At the end of the turn, so that all calls of one turn share a transaction.
  #scheduleTurn(): void {
    if (this.#isTurnScheduled) return
    this.#isTurnScheduled = true
    atTurnEnd(() => {
      this.#isTurnScheduled = false
      this.#runTurn()
    })
  }

  #runTurn(): void {
    if (this.#isAlone) return
    this.#apply()
    if (!this.#isWriting && this.#applied.length > 0) void this.#write()
  }

  #apply(): void {
    const queue = this.#queue
    let next = 0
    while (next < queue.length && this.#open.bytes < maxBatchBytes) {
      const call = queue[next++]!
      let mayBeHalfDone = true
      try {
        if (call.prepare !== undefined) {
          call.prepare(this.#open)
          mayBeHalfDone = false
        }
        call.answer = call.apply(this.#open)
        this.#applied.push(call)
      } catch (error) {
        call.reject(typed(error))
        if (mayBeHalfDone && !isRefusal(error)) this.#rollBack(rolledBack(error))
      }
    }
    this.#queue = next === queue.length ? [] : queue.slice(next)
  }

  async #write(): Promise<void> {
    this.#isWriting = true
    while (this.#applied.length > 0) {
      const batch = this.#open
      const applied = this.#applied
      batch.seal()
      this.#open = new Batch()
      this.#applied = []
      try {
        if (!batch.isEmpty) await this.#commit(batch)
        batch.committed()
        for (const { resolve, answer } of applied) resolve(answer)
      } catch (error) {
        this.#rollBack(error, batch, applied)
        this.#rejectQueueIfFailed()
      }
      if (this.#queue.length > 0 && !this.#isAlone) this.#apply()
    }
    this.#isWriting = false
    if (this.#isAlone) this.#onWritten?.()
    else if (this.#queue.length > 0) this.#scheduleTurn()
    else this.#resolveIdle()
  }

  #resolveIdle(): void {
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** Undoes the open batch, and then the batch that could not be written. */
  #rollBack(error: unknown, failed?: Batch, waiting: readonly Call[] = []): void {
    const open = this.#open
    const dependent = this.#applied
    open.seal()
    this.#open = new Batch()
    this.#applied = []
    open.undo()
    failed?.undo()
    this.#afterUndo()
    for (const { reject } of waiting) reject(error)
    // The open batch was never sent to the disk, so its outcome is known even if that of the failed batch is not.
    const reason = this.#failure() ?? error
    for (const { reject } of dependent) reject(reason)
  }

  /** Rejects the queued calls if the store has failed. */
  #rejectQueueIfFailed(): void {
    const failure = this.#failure()
    if (failure === undefined) return
    for (const { reject } of this.#queue.splice(0)) reject(failure)
  }
}

/** The error of a call that failed inside the store. Callers, the engine too, branch on its code. */
function typed(error: unknown): unknown {
  if (error instanceof CarillonError) return error
  return new StoreError('store-damaged', `a call to the file store failed in it: ${messageOf(error)}`, {
    cause: error,
  })
}

/** The error of the calls that shared a transaction with a call that failed. */
function rolledBack(cause: unknown): StoreError {
  return new StoreError(
    'store-unavailable',
    `nothing was written, because another call of the same transaction failed (${messageOf(cause)}): try again`,
    { cause },
  )
}

function stopped(): StateError {
  return new StateError('stopped', 'the file store was stopped')
}

const refusals: ReadonlySet<string> = new Set([
  'fenced',
  'inbox-first',
  'invalid-cursor',
  'invalid-level',
  'invalid-option',
  'wrong-strategy',
])

/** Whether a call was refused before it changed anything. After any other error it may be half applied. */
function isRefusal(error: unknown): boolean {
  return error instanceof CarillonError && refusals.has(error.code)
}
