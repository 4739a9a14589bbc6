import { type CarillonError, StoreError } from '../../error/index.js'
import type { Clock } from '../../time/index.js'
import type { OperationAnswer, InboxRequest, RequestedOperation, Store } from '../../store/index.js'
import { type Answer, failed, type SubmitAnswer } from '../answer.js'
import { type CallLimit, Sleeper } from '../../async/index.js'
import type { EngineSettings } from '../settings.js'

// A deadline is never later than this from now.
const MAX_DEADLINE_MS = 86_400_000

/**
 * Asks the owner of a shard to carry out operations, through the shard's inbox (rule 3). A plain `set` is acknowledged as
 * soon as it is appended. Anything else waits for the owner's answer until the deadline. After that the owner
 * refuses a move or cancel. A `set` with a condition may still be applied.
 *
 * Proven by test/engine/owner-router.test.ts and the mutant 'an expired cancel or move is answered unknown'.
 */
export class InboxClient {
  readonly #store: Store
  readonly #settings: EngineSettings
  readonly #random: () => number
  readonly #clock: Clock
  readonly #sleepers = new Map<number, Sleeper>()
  #isOver = false

  constructor(parts: { store: Store; clock: Clock; settings: EngineSettings; random: () => number }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#settings = parts.settings
    this.#random = parts.random
  }

  /** The owner of a shard may have answered. */
  poke(shard: number): void {
    this.#sleepers.get(shard)?.wakeAll()
  }

  stop(): void {
    this.#isOver = true
    for (const sleeper of this.#sleepers.values()) sleeper.cancelAll()
  }

  /** With a `limit`, it gives up when the call is over, and otherwise after `requestTimeoutMs`. */
  async ask(
    shard: number,
    operations: readonly RequestedOperation[],
    limit?: CallLimit,
  ): Promise<readonly SubmitAnswer[]> {
    const begunAt = this.#clock.monotonic()
    const giveUpAt = limit?.deadline ?? begunAt + this.#settings.requestTimeoutMs
    const requestTimeoutMs = Math.max(1, giveUpAt - begunAt)
    let requests = this.#requestsOf(shard, operations, requestTimeoutMs)
    let appended = await this.#append(shard, requests, giveUpAt, limit)
    // If the store's clock was ahead once, the inbox refuses deadlines earlier than those it has forgotten.
    for (let forMs = requestTimeoutMs * 2; appended === 'expired' && forMs <= MAX_DEADLINE_MS; forMs *= 2) {
      requests = this.#requestsOf(shard, operations, forMs)
      appended = await this.#append(shard, requests, giveUpAt, limit)
    }
    if (appended !== undefined) {
      const error = appended === 'expired' ? expired(shard) : appended
      return operations.map(() => failed(error))
    }
    this.#store.wake(shard)
    const answers = operations.map((operation): SubmitAnswer | undefined =>
      isAcknowledgedAtOnce(operation) ? { outcome: 'appended' } : undefined,
    )
    while (answers.includes(undefined)) {
      if (this.#isOver || limit?.isOver === true || this.#clock.monotonic() >= giveUpAt)
        return answers.map((answer) => answer ?? unreachable(shard))
      const open = [...answers.keys()].filter((index) => answers[index] === undefined)
      const ids = open.map((index) => requests[index]!.id)
      const outcomes = (await orOver(limit, this.#readAnswers(shard, ids))) ?? []
      for (const [at, index] of open.entries()) answers[index] = answerOf(outcomes[at], shard)
      if (answers.includes(undefined))
        await orOver(limit, this.#sleeperOf(shard).sleep(this.#settings.retryMs))
    }
    return answers.map((answer) => answer ?? unreachable(shard))
  }

  /** Completes the answers of an owner that may have lost the shard: what it did not write goes to the next owner. */
  completeAnswers(
    shard: number,
    operations: readonly RequestedOperation[],
    answers: readonly Answer[],
    limit?: CallLimit,
  ): readonly SubmitAnswer[] | Promise<readonly SubmitAnswer[]> {
    return answers.every(isFinal) ? answers : this.#askNext(shard, operations, answers, limit)
  }

  async #askNext(
    shard: number,
    operations: readonly RequestedOperation[],
    answers: readonly Answer[],
    limit: CallLimit | undefined,
  ): Promise<readonly SubmitAnswer[]> {
    const lost = operations.filter((_, index) => answers[index]!.outcome === 'lost')
    const asked = (lost.length === 0 ? [] : await this.ask(shard, lost, limit)).values()
    return answers.map((answer): SubmitAnswer => {
      if (answer.outcome === 'lost') return asked.next().value!
      if (answer.outcome !== 'unsure') return answer
      return failed(new StoreError('unknown-outcome', `shard ${shard} changed hands while this was written`))
    })
  }

  #requestsOf(
    shard: number,
    operations: readonly RequestedOperation[],
    forMs: number,
  ): readonly InboxRequest[] {
    const deadline = Math.ceil(this.#clock.now() + forMs)
    return operations.map((operation) => ({ id: this.#newId(), shard, deadline, operation }))
  }

  /**
   * Appends the requests until they are known to be there; then answers undefined. Answers 'expired' if the inbox refused
   * them and no try can have appended them. Answers an error if they may have been appended, or could not be.
   */
  async #append(
    shard: number,
    requests: readonly InboxRequest[],
    giveUpAt: number,
    limit: CallLimit | undefined,
  ): Promise<CarillonError | 'expired' | undefined> {
    let unsure: StoreError | undefined
    let last: StoreError | undefined
    for (;;) {
      if (limit?.isOver === true) return unsure ?? limit.notDone(last)
      try {
        const answers = await orOver(limit, this.#store.append(requests))
        if (answers === undefined) return limit?.unknownOutcome()
        if (!answers.includes('expired')) return undefined
        return unsure === undefined && answers.every((answer) => answer === 'expired')
          ? 'expired'
          : expired(shard)
      } catch (error) {
        if (!(error instanceof StoreError)) throw error
        last = error
        // A later refusal does not undo an append that may have happened.
        if (error.code === 'unknown-outcome') unsure = error
        if (this.#isOver || error.code === 'store-failed') return unsure ?? error
        if (this.#clock.monotonic() >= giveUpAt) return unsure ?? limit?.notDone(error) ?? error
      }
      await orOver(limit, this.#sleeperOf(shard).sleep(this.#settings.retryMs))
    }
  }

  async #readAnswers(
    shard: number,
    ids: readonly string[],
  ): Promise<readonly (OperationAnswer['outcome'] | undefined)[]> {
    try {
      return await this.#store.answers(shard, ids)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      return ids.map(() => undefined)
    }
  }

  #sleeperOf(shard: number): Sleeper {
    let sleeper = this.#sleepers.get(shard)
    if (sleeper === undefined) this.#sleepers.set(shard, (sleeper = new Sleeper(this.#clock)))
    return sleeper
  }

  #newId(): string {
    return [0, 0, 0].map(() => Math.floor(this.#random() * 2 ** 32).toString(36)).join('')
  }
}

function orOver<Given>(limit: CallLimit | undefined, step: Promise<Given>): Promise<Given | undefined> {
  return limit === undefined ? step : limit.orOver(step)
}

function isFinal(answer: Answer): answer is SubmitAnswer {
  return answer.outcome !== 'lost' && answer.outcome !== 'unsure'
}

/** Whether the caller is answered as soon as the operation is in the inbox. */
export function isAcknowledgedAtOnce(operation: RequestedOperation): boolean {
  if (operation.type !== 'set') return false
  const { ifAbsent, ifRevision, fromDead } = operation
  return ifAbsent !== true && ifRevision === undefined && fromDead === undefined
}

function answerOf(outcome: OperationAnswer['outcome'] | undefined, shard: number): SubmitAnswer | undefined {
  switch (outcome) {
    case undefined:
      return undefined
    case 'set':
    case 'same':
      return { outcome: 'set', revision: undefined, replaced: undefined }
    case 'moved':
      return { outcome: 'moved', revision: undefined }
    case 'conflict':
      return { outcome: 'conflict', current: undefined }
    case 'cancelled':
    case 'firing':
    case 'settled':
    case 'unknown':
      return { outcome }
    case 'expired':
      return unreachable(shard)
    case 'below-level':
    case 'answered-before':
      throw new Error(`an answer of ${outcome} is never kept`)
  }
}

function expired(shard: number): StoreError {
  return new StoreError('unknown-outcome', `shard ${shard} did not take the request in time`)
}

function unreachable(shard: number): SubmitAnswer {
  return failed(
    new StoreError(
      'owner-unreachable',
      `the owner of shard ${shard} did not answer in time; a move or cancel may still happen until the deadline, a set also after it`,
    ),
  )
}
