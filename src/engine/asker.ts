import { type CarillonError, StoreError } from '../error/index.js'
import type { Clock } from '../time/index.js'
import type { OperationAnswer, Request, RequestedOperation, Store } from '../store/index.js'
import { type Answer, failed, type SubmitAnswer } from './answer.js'
import { Waits } from './waits.js'
import type { EngineSettings } from './settings.js'

/**
 * Asks a shard's owner to carry out an operation, by its inbox (rule 3). A plain `set` is acknowledged when it
 * is appended; whatever else needs the owner's answer is waited for until the deadline, after which the owner
 * no longer carries it out.
 */
export class Asker {
  readonly #store: Store
  readonly #settings: EngineSettings
  readonly #random: () => number
  readonly #storeNow: () => number
  readonly #clock: Clock
  readonly #waitsByShard = new Map<number, Waits>()
  #isOver = false

  constructor(parts: {
    store: Store
    clock: Clock
    settings: EngineSettings
    random: () => number
    storeNow: () => number
  }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#settings = parts.settings
    this.#random = parts.random
    this.#storeNow = parts.storeNow
  }

  /** The owner of a shard has something to say. */
  poke(shard: number): void {
    this.#waitsByShard.get(shard)?.interrupt()
  }

  end(): void {
    this.#isOver = true
    for (const waits of this.#waitsByShard.values()) waits.end()
  }

  async ask(shard: number, operations: readonly RequestedOperation[]): Promise<readonly SubmitAnswer[]> {
    const { requestTimeoutMs } = this.#settings
    const deadline = Math.ceil(this.#storeNow() + requestTimeoutMs)
    const giveUpAt = this.#clock.monotonic() + requestTimeoutMs
    const requests = operations.map((operation): Request => ({
      id: this.#newId(),
      shard,
      deadline,
      operation,
    }))
    const appended = await this.#append(shard, requests, giveUpAt)
    if (appended !== undefined) return operations.map(() => failed(appended))
    this.#store.wake(shard)
    const answers = operations.map((operation): SubmitAnswer | undefined =>
      isAcknowledgedAtOnce(operation) ? { outcome: 'appended' } : undefined,
    )
    while (answers.includes(undefined)) {
      if (this.#isOver || this.#clock.monotonic() >= giveUpAt)
        return answers.map((answer) => answer ?? unreachable(shard))
      const open = [...answers.keys()].filter((index) => answers[index] === undefined)
      const outcomes = await this.#look(
        shard,
        open.map((index) => requests[index]!.id),
      )
      for (const [at, index] of open.entries()) answers[index] = answerOf(outcomes[at], shard)
      if (answers.includes(undefined)) await this.#waitsFor(shard).wait(this.#settings.retryMs)
    }
    return answers.map((answer) => answer ?? unreachable(shard))
  }

  /** Goes on with what an owner answered that may have lost the shard meanwhile: the next owner takes what was not written. */
  goOn(
    shard: number,
    operations: readonly RequestedOperation[],
    answers: readonly Answer[],
  ): readonly SubmitAnswer[] | Promise<readonly SubmitAnswer[]> {
    return answers.every(isFinal) ? answers : this.#askNext(shard, operations, answers)
  }

  async #askNext(
    shard: number,
    operations: readonly RequestedOperation[],
    answers: readonly Answer[],
  ): Promise<readonly SubmitAnswer[]> {
    const lost = operations.filter((_, index) => answers[index]!.outcome === 'lost')
    const asked = (lost.length === 0 ? [] : await this.ask(shard, lost)).values()
    return answers.map((answer): SubmitAnswer => {
      if (answer.outcome === 'lost') return asked.next().value!
      if (answer.outcome !== 'unsure') return answer
      return failed(new StoreError('unknown-outcome', `shard ${shard} changed hands while this was written`))
    })
  }

  /** Appends, again and again until it is known to be there. Answers the error when it never was. */
  async #append(
    shard: number,
    requests: readonly Request[],
    giveUpAt: number,
  ): Promise<CarillonError | undefined> {
    let unsure: StoreError | undefined
    for (;;) {
      try {
        const answers = await this.#store.append(requests)
        return answers.includes('expired')
          ? new StoreError('unknown-outcome', `shard ${shard} did not take the request in time`)
          : undefined
      } catch (error) {
        if (!(error instanceof StoreError)) throw error
        // One that may have been appended is not undone by a later refusal.
        if (error.code === 'unknown-outcome') unsure = error
        if (this.#isOver || this.#clock.monotonic() >= giveUpAt) return unsure ?? error
      }
      await this.#waitsFor(shard).wait(this.#settings.retryMs)
    }
  }

  async #look(
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

  #waitsFor(shard: number): Waits {
    let waits = this.#waitsByShard.get(shard)
    if (waits === undefined) this.#waitsByShard.set(shard, (waits = new Waits(this.#clock)))
    return waits
  }

  #newId(): string {
    return [0, 0, 0].map(() => Math.floor(this.#random() * 2 ** 32).toString(36)).join('')
  }
}

function isFinal(answer: Answer): answer is SubmitAnswer {
  return answer.outcome !== 'lost' && answer.outcome !== 'unsure'
}

/** Whether being in the inbox is all that its caller has to know. */
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
      return { outcome: 'conflict', standing: undefined }
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

function unreachable(shard: number): SubmitAnswer {
  return failed(
    new StoreError(
      'owner-unreachable',
      `the owner of shard ${shard} did not answer in time; it may still do it until the deadline`,
    ),
  )
}
