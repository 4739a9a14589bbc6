import { CarillonError, StoreError } from '../../error/index.js'
import type { Clock } from '../../time/index.js'
import type {
  BarrierOperation,
  InboxRequest,
  OperationAnswer,
  RequestedOperation,
  Store,
} from '../../store/index.js'
import { type Answer, failed, type SubmitAnswer } from '../answer.js'
import { type CallLimit, Sleeper } from '../../async/index.js'
import type { EngineSettings } from '../settings.js'

// A deadline is never later than this from now.
const MAX_DEADLINE_MS = 86_400_000

type Outcome = OperationAnswer['outcome']

/** Takes a shard that has no owner, for a moment. */
export interface ShardVisitor {
  /** Applies the inbox of a shard, if nobody owns the shard. Answers whether it did. */
  visit(shard: number): Promise<boolean>
}

/**
 * Asks the owner of a shard to carry out operations, through the shard's inbox (rule 3). A plain `set` is acknowledged as
 * soon as it is appended, if its name is free: then nothing of that name can start before it is applied (promise 16).
 * Anything else waits for the owner's answer until the deadline. If the shard has no owner, this instance applies the
 * inbox itself. After the deadline an owner refuses a move or cancel. A `set` may still be applied.
 *
 * Proven by test/engine/owner-router.test.ts, test/engine/from-anywhere.test.ts and the mutants 'an expired cancel or move is answered unknown', 'a set of a taken name is acknowledged in the inbox'.
 */
export class InboxClient {
  readonly #store: Store
  readonly #settings: EngineSettings
  readonly #random: () => number
  readonly #clock: Clock
  readonly #visitor: ShardVisitor
  readonly #sleepers = new Map<number, Sleeper>()
  #isOver = false

  constructor(parts: {
    store: Store
    clock: Clock
    settings: EngineSettings
    random: () => number
    visitor: ShardVisitor
  }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#settings = parts.settings
    this.#random = parts.random
    this.#visitor = parts.visitor
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
    const giveUpAt = limit?.deadline ?? this.#clock.monotonic() + this.#settings.requestTimeoutMs
    const requests = await this.#appendAll(shard, operations, giveUpAt, limit)
    if (requests instanceof CarillonError) return operations.map(() => failed(requests))
    const areFree = (await orOver(limit, this.#areFree(requests))) ?? requests.map(() => false)
    const open = requests.filter((_, index) => !areFree[index])
    const outcomes = (await this.#awaitAnswers(shard, open, giveUpAt, limit)).values()
    return areFree.map((isFree, index) =>
      isFree
        ? { outcome: 'appended' }
        : (answerOf(outcomes.next().value, operations[index]!, shard) ?? unreachable(shard)),
    )
  }

  /**
   * Resolves when every request that is in the inbox now is applied. Rejects with 'owner-unreachable' if that takes too
   * long.
   */
  async applyAll(shard: number): Promise<void> {
    const giveUpAt = this.#clock.monotonic() + this.#settings.requestTimeoutMs
    const requests = await this.#appendAll(shard, [{ type: 'barrier' }], giveUpAt)
    if (requests instanceof CarillonError) throw requests
    const [outcome] = await this.#awaitAnswers(shard, requests, giveUpAt)
    if (outcome !== undefined) return
    throw new StoreError(
      'owner-unreachable',
      `acknowledged changes wait in the inbox of shard ${shard}, and its owner did not apply them in time`,
    )
  }

  /** Appends requests for operations. Answers the requests, or an error if they were not, or may not be appended. */
  async #appendAll<Asked extends RequestedOperation | BarrierOperation>(
    shard: number,
    operations: readonly Asked[],
    giveUpAt: number,
    limit?: CallLimit,
  ): Promise<readonly InboxRequest<Asked>[] | CarillonError> {
    const leftMs = Math.max(1, giveUpAt - this.#clock.monotonic())
    // If the store's clock was ahead once, the inbox refuses deadlines earlier than those it has forgotten.
    for (let forMs = leftMs; forMs <= Math.max(leftMs, MAX_DEADLINE_MS); forMs *= 2) {
      const requests = this.#requestsOf(shard, operations, forMs)
      const appended = await this.#append(shard, requests, giveUpAt, limit)
      if (appended === 'expired') continue
      if (appended !== undefined) return appended
      this.#store.wake(shard)
      return requests
    }
    return expired(shard)
  }

  /** Which of the requests are plain sets of names that are free. */
  async #areFree(requests: readonly InboxRequest<RequestedOperation>[]): Promise<readonly boolean[]> {
    const plain = requests.filter(({ operation }) => isPlainSet(operation))
    if (plain.length === 0) return requests.map(() => false)
    let areFree: readonly boolean[] = []
    try {
      areFree = await this.#store.areFree(plain)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
    }
    const free = new Set(plain.filter((_, index) => areFree[index]))
    return requests.map((request) => free.has(request))
  }

  /** The outcomes of requests. They are undefined if the deadline comes first. */
  async #awaitAnswers(
    shard: number,
    requests: readonly InboxRequest[],
    giveUpAt: number,
    limit?: CallLimit,
  ): Promise<readonly (Outcome | undefined)[]> {
    const outcomes = new Array<Outcome | undefined>(requests.length).fill(undefined)
    let open = [...outcomes.keys()]
    while (open.length > 0) {
      const ids = open.map((index) => requests[index]!.id)
      const found = (await orOver(limit, this.#readAnswers(shard, ids))) ?? []
      for (const [at, index] of open.entries()) outcomes[index] = found[at]
      open = open.filter((index) => outcomes[index] === undefined)
      const isOver = this.#isOver || limit?.isOver === true || this.#clock.monotonic() >= giveUpAt
      if (open.length === 0 || isOver) break
      const hasVisited = await orOver(limit, this.#visitor.visit(shard))
      if (hasVisited !== true) await orOver(limit, this.#sleeperOf(shard).sleep(this.#settings.retryMs))
    }
    return outcomes
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

  #requestsOf<Asked>(
    shard: number,
    operations: readonly Asked[],
    forMs: number,
  ): readonly InboxRequest<Asked>[] {
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
        if (this.#isOver || isLasting(error)) return unsure ?? error
        if (this.#clock.monotonic() >= giveUpAt) return unsure ?? limit?.notDone(error) ?? error
      }
      await orOver(limit, this.#sleeperOf(shard).sleep(this.#settings.retryMs))
    }
  }

  async #readAnswers(shard: number, ids: readonly string[]): Promise<readonly (Outcome | undefined)[]> {
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

/** Whether another try would fail in the same way, until somebody does something about it. */
function isLasting({ code }: StoreError): boolean {
  return code === 'store-failed' || code === 'store-full'
}

function isFinal(answer: Answer): answer is SubmitAnswer {
  return answer.outcome !== 'lost' && answer.outcome !== 'unsure'
}

/** Whether the operation is a `set` without a condition. */
export function isPlainSet(operation: RequestedOperation): boolean {
  if (operation.type !== 'set') return false
  const { ifAbsent, ifRevision, fromDead } = operation
  return ifAbsent !== true && ifRevision === undefined && fromDead === undefined
}

function answerOf(
  outcome: Outcome | undefined,
  { type }: RequestedOperation,
  shard: number,
): SubmitAnswer | undefined {
  switch (outcome) {
    case undefined:
      return undefined
    case 'set':
    case 'same':
      return { outcome: 'set', revision: undefined, replaced: undefined }
    case 'moved':
      // A cancel of a recurring timer that fires rewrites its row.
      return type === 'cancel' ? { outcome: 'ending' } : { outcome: 'moved', revision: undefined }
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
  return new StoreError(
    'unknown-outcome',
    `the inbox of shard ${shard} refused the request: its deadline had passed`,
  )
}

function unreachable(shard: number): SubmitAnswer {
  return failed(
    new StoreError(
      'owner-unreachable',
      `the owner of shard ${shard} did not answer in time; a move or cancel may still be applied until the deadline of the request, a set at any time`,
    ),
  )
}
