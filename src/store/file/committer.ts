import { setImmediate as atTurnEnd } from 'node:timers'
import { CarillonError, StateError } from '../../error/index.js'
import { Batch } from './batch.js'

const FULL_BYTES = 8 << 20

interface Call {
  readonly apply: (batch: Batch) => unknown
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
  answer: unknown
}

/** Makes the changes of a batch durable; rejects when nothing of them is there. */
export type Commit = (batch: Batch) => Promise<void>

/**
 * Group commit: calls are applied to memory one after the other as they come, those that meet share one
 * transaction, and each is answered only when everything it saw or did is on the disk. While one transaction is
 * being written the next one fills. When a commit fails, what depends on it goes back and is rejected.
 */
export class Committer {
  readonly #commit: Commit
  readonly #afterUndo: () => void
  #queue: Call[] = []
  #open = new Batch()
  #applied: Call[] = []
  #isTurnAsked = false
  #isWriting = false
  #isAlone = false
  #isStopped = false
  #idle: (() => void)[] = []

  constructor(commit: Commit, afterUndo: () => void) {
    this.#commit = commit
    this.#afterUndo = afterUndo
  }

  /** Applies a change, or a reading, in its turn. What it throws before it changed anything rejects it alone. */
  run<Answer>(apply: (batch: Batch) => Answer): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      if (this.#isStopped) {
        reject(new StateError('stopped', 'the file store was stopped'))
        return
      }
      this.#queue.push({ apply, resolve: resolve as (answer: unknown) => void, reject, answer: undefined })
      this.#ask()
    })
  }

  /** Waits for what was begun; calls after it are refused. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.idle()
  }

  /** Waits until nothing is waiting or being written. */
  async idle(): Promise<void> {
    if (!this.#isWriting && this.#queue.length === 0 && this.#applied.length === 0) return
    await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  /** Runs something while nothing is applied or written; calls wait. */
  async alone(run: () => Promise<void>): Promise<void> {
    while (this.#isWriting || this.#applied.length > 0) await this.idle()
    this.#isWriting = this.#isAlone = true
    try {
      await run()
    } finally {
      this.#isWriting = this.#isAlone = false
      if (this.#queue.length > 0) this.#ask()
      else this.#rest()
    }
  }

  // At the end of the turn, so that all who call in one turn meet.
  #ask(): void {
    if (this.#isTurnAsked) return
    this.#isTurnAsked = true
    atTurnEnd(() => {
      this.#isTurnAsked = false
      this.#turn()
    })
  }

  #turn(): void {
    if (this.#isAlone) return
    this.#apply()
    if (!this.#isWriting && this.#applied.length > 0) void this.#write()
  }

  #apply(): void {
    const queue = this.#queue
    let next = 0
    while (next < queue.length && this.#open.bytes < FULL_BYTES) {
      const call = queue[next++]!
      try {
        call.answer = call.apply(this.#open)
        this.#applied.push(call)
      } catch (error) {
        call.reject(error)
        if (!isRefusal(error)) this.#goBack(error)
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
        this.#goBack(error, batch, applied)
      }
      if (this.#queue.length > 0) this.#apply()
    }
    this.#isWriting = false
    if (this.#queue.length > 0) this.#ask()
    else this.#rest()
  }

  #rest(): void {
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** Takes back what is not yet being written, and before it what could not be written. */
  #goBack(error: unknown, failed?: Batch, waiting: readonly Call[] = []): void {
    const open = this.#open
    const dependent = this.#applied
    open.seal()
    this.#open = new Batch()
    this.#applied = []
    open.undo()
    failed?.undo()
    this.#afterUndo()
    for (const { reject } of waiting) reject(error)
    for (const { reject } of dependent) reject(error)
  }
}

const refusals: ReadonlySet<string> = new Set([
  'fenced',
  'inbox-first',
  'invalid-cursor',
  'invalid-level',
  'invalid-option',
  'wrong-strategy',
])

/** Whether a call was refused before it changed anything. Whatever else it throws may come from its midst. */
function isRefusal(error: unknown): boolean {
  return error instanceof CarillonError && refusals.has(error.code)
}
