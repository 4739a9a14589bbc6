import { type Handle, type HandleMany, Handlers, type TimerFiring } from '../delivery/index.js'
import { Engine, type EngineEvent, type EngineSettings, type SubmitAnswer } from '../engine/index.js'
import { checkFunction, InvalidInputError, shown } from '../error/index.js'
import type { Schedule } from '../schedule/index.js'
import { checkRequested, type RequestedOperation, type Store } from '../store/index.js'
import type { Clock } from '../time/index.js'
import {
  checkKey,
  decodeDetails,
  decodePayload,
  encodeDetails,
  encodePayload,
  handleOf,
  identityText,
  newIdentity,
  parseHandle,
  parseRetry,
  type RetryOptions,
  type TimerHandle,
  type TimerName,
  type TimerRow,
} from '../timer/index.js'
import type { TimerKind } from './kind.js'
import { dueAtOf, type When } from './when.js'

/** What a timer is set to. */
export type SetOptions<Payload> = When & {
  /** Only if no timer has this key. */
  readonly ifAbsent?: boolean
  /** Only if the timer of this key stands at this revision. */
  readonly ifRevision?: number
  /** What overrides the kind's policy, for this timer. */
  readonly retry?: RetryOptions
  readonly tags?: readonly string[]
} & ([undefined] extends [Payload] ? { readonly payload?: Payload } : { readonly payload: Payload })

export type SetManyRow<Payload> = SetOptions<Payload> & { readonly key?: string }

/** What `set` answers. */
export interface SetTimer {
  /** 'conflict': a condition did not hold, and nothing was changed. */
  readonly outcome: 'set' | 'conflict'
  readonly key: string
  /** Finds this timer and no later one of the same key. */
  readonly handle: TimerHandle
  readonly dueAt: number
  /** Undefined when another instance stores it. */
  readonly revision: number | undefined
}

/** A timer as it stands. */
export interface TimerView<Payload> {
  readonly kind: string
  readonly key: string
  readonly handle: TimerHandle
  readonly revision: number
  /** 'firing': an attempt is under way in this instance. */
  readonly state: 'waiting' | 'firing'
  readonly dueAt: number
  readonly createdAt: number
  /** Attempts at this occurrence that are recorded. */
  readonly attempts: number
  readonly occurrence: number
  readonly payload: Payload
  readonly tags: readonly string[]
  /** The JSON form of its schedule; undefined for a timer that fires once. */
  readonly on: unknown
}

export type MoveOutcome = 'moved' | 'firing' | 'settled' | 'unknown'
export type CancelOutcome = 'cancelled' | 'firing' | 'settled' | 'unknown'

export interface TimersParts {
  readonly store: Store
  /** Whether to stop the store with the timers. */
  readonly ownsStore: boolean
  readonly clock: Clock
  readonly random: () => number
  readonly namespace: string
  readonly settings: Partial<EngineSettings>
  readonly onEvent: (event: EngineEvent) => void
  readonly onFailure: (firing: TimerFiring, error: unknown) => void
}

/** The front door: sets, moves, cancels and handles timers on a store. Made by `openTimers`. */
export class Timers implements AsyncDisposable {
  readonly #parts: TimersParts
  readonly #handlers: Handlers
  readonly #engine: Engine
  #stopping: Promise<void> | undefined

  constructor(parts: TimersParts) {
    const { store, clock, random, namespace } = parts
    this.#parts = parts
    this.#handlers = new Handlers({ clock, random, onFailure: parts.onFailure })
    this.#engine = new Engine({
      store,
      clock,
      random,
      deliver: this.#handlers.deliver,
      concurrencyOf: (of, kind) => (of === namespace ? this.#handlers.concurrencyOf(kind) : 0),
      settings: parts.settings,
      // Nobody else has this store open, so there is nobody to share its shards with.
      holdsAll: !store.capabilities.shared || !store.capabilities.durable,
      onEvent: parts.onEvent,
    })
  }

  /** The engine underneath, for those who watch it. */
  get engine(): Engine {
    return this.#engine
  }

  async open(): Promise<void> {
    await this.#engine.open()
  }

  /** Loads and fires from now on. */
  async start(): Promise<void> {
    await this.#engine.start()
  }

  /** Finishes attempts under way (bounded), lets go of everything. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** The function that gets the firings of a kind, one by one. */
  handle<Payload>(kind: TimerKind<Payload>, handle: Handle<Payload>): void {
    checkFunction('handle', handle)
    this.#handlers.add({ ...handlerOf(kind, 1000), one: handle as Handle<unknown>, many: undefined })
    this.#engine.refresh()
  }

  /** The function that gets the firings of a kind in batches: the fast way. */
  handleMany<Payload>(kind: TimerKind<Payload>, handle: HandleMany<Payload>): void {
    checkFunction('handleMany', handle)
    this.#handlers.add({ ...handlerOf(kind, 50_000), one: undefined, many: handle as HandleMany<unknown> })
    this.#engine.refresh()
  }

  /** Sets a timer; one of the same key is replaced. Without a key one is made up. */
  async set<Payload>(
    kind: TimerKind<Payload>,
    key: string | undefined,
    options: SetOptions<Payload>,
  ): Promise<SetTimer> {
    const operation = this.#setOf(kind, key, options)
    const [answer] = await this.#engine.submit([operation])
    return setTimerOf(operation, answer!)
  }

  /** Sets many timers of one kind in one go; one answer each. */
  async setMany<Payload>(
    kind: TimerKind<Payload>,
    rows: readonly SetManyRow<Payload>[],
  ): Promise<readonly SetTimer[]> {
    const operations = rows.map((row) => this.#setOf(kind, row.key, row))
    const answers = await this.#engine.submit(operations)
    return answers.map((answer, index) => setTimerOf(operations[index]!, answer))
  }

  /** Gives a timer another due time; its payload stays. By kind and key, or by handle. */
  move<Payload>(kind: TimerKind<Payload>, key: string, when: When): Promise<MoveOutcome>
  move(handle: TimerHandle, when: When): Promise<MoveOutcome>
  async move(
    of: TimerKind<unknown> | TimerHandle,
    keyOrWhen: string | When,
    when?: When,
  ): Promise<MoveOutcome> {
    const named = this.#named(of, typeof keyOrWhen === 'string' ? keyOrWhen : undefined)
    const to = typeof keyOrWhen === 'string' ? when : keyOrWhen
    if (to === undefined) throw new InvalidInputError('invalid-when', 'say when: { in } or { at }')
    if (to.on !== undefined) {
      throw new InvalidInputError(
        'invalid-when',
        'a move takes in or at; set the timer anew to give it a schedule',
      )
    }
    const dueAt = dueAtOf(to, this.#parts.clock.now(), '')
    const [answer] = await this.#engine.submit([{ type: 'move', ...named, dueAt }])
    return outcomeOf(answer!, ['moved', 'firing', 'settled', 'unknown'])
  }

  /** Takes a timer away. By kind and key, or by handle. Never silent: the answer says what became of it. */
  cancel<Payload>(kind: TimerKind<Payload>, key: string): Promise<CancelOutcome>
  cancel(handle: TimerHandle): Promise<CancelOutcome>
  async cancel(of: TimerKind<unknown> | TimerHandle, key?: string): Promise<CancelOutcome> {
    const [answer] = await this.#engine.submit([{ type: 'cancel', ...this.#named(of, key) }])
    return outcomeOf(answer!, ['cancelled', 'firing', 'settled', 'unknown'])
  }

  /** A timer as it stands; undefined when there is none. By kind and key, or by handle. */
  get<Payload>(kind: TimerKind<Payload>, key: string): Promise<TimerView<Payload> | undefined>
  get(handle: TimerHandle): Promise<TimerView<unknown> | undefined>
  async get(of: TimerKind<unknown> | TimerHandle, key?: string): Promise<TimerView<unknown> | undefined> {
    const named = this.#named(of, key)
    const [row] = await this.#parts.store.find([named])
    if (row === undefined || (named.identity !== undefined && named.identity !== row.identity))
      return undefined
    return this.#viewOf(row)
  }

  async #stop(): Promise<void> {
    await this.#engine.stop()
    if (this.#parts.ownsStore) await this.#parts.store.stop()
  }

  #setOf<Payload>(
    kind: TimerKind<Payload>,
    key: string | undefined,
    options: SetOptions<Payload>,
  ): SetRequest {
    const { clock, random, namespace } = this.#parts
    const identity = newIdentity(random)
    if (options.retry !== undefined) parseRetry(options.retry)
    const now = clock.now()
    const { ifAbsent, ifRevision, retry, tags = [] } = options
    const on: Schedule | undefined = options.on
    const operation: SetRequest = {
      type: 'set',
      namespace,
      kind: kind.name,
      key: key ?? identityText(identity),
      identity,
      createdAt: now,
      dueAt: dueAtOf(options, now, String(identity)),
      attempt: 0,
      occurrence: 0,
      payload: encodePayload(options.payload),
      tags,
      details: on === undefined && retry === undefined ? '' : encodeDetails({ on, ...(retry && { retry }) }),
    }
    // Here, where the caller is at hand: further in, many callers' timers travel together.
    checkRequested(operation, this.#parts.store.maxPayloadBytes)
    if (ifAbsent !== true && ifRevision === undefined) return operation
    return {
      ...operation,
      ...(ifAbsent === true && { ifAbsent }),
      ...(ifRevision !== undefined && { ifRevision }),
    }
  }

  #named(of: TimerKind<unknown> | TimerHandle, key: string | undefined): TimerName & { identity?: number } {
    if (typeof of === 'string') return parseHandle(of)
    if (key === undefined) {
      throw new InvalidInputError(
        'invalid-key',
        `name the key of the ${of.name}, or give its handle, got ${shown(key)}`,
      )
    }
    checkKey(key)
    return { namespace: this.#parts.namespace, kind: of.name, key }
  }

  #viewOf(row: TimerRow): TimerView<unknown> {
    return {
      kind: row.kind,
      key: row.key,
      handle: handleOf(row),
      revision: row.revision,
      state: this.#engine.isFiring(row) ? 'firing' : 'waiting',
      dueAt: row.dueAt,
      createdAt: row.createdAt,
      attempts: row.attempt,
      occurrence: row.occurrence,
      payload: decodePayload(row.payload),
      tags: row.tags,
      on: decodeDetails(row.details).on,
    }
  }
}

type SetRequest = Extract<RequestedOperation, { readonly type: 'set' }>

function handlerOf(kind: TimerKind<unknown>, concurrency: number) {
  return {
    kind: kind.name,
    concurrency: kind.concurrency ?? concurrency,
    timeoutMs: kind.timeoutMs,
    retry: kind.retry,
  }
}

function setTimerOf(operation: SetRequest, answer: SubmitAnswer): SetTimer {
  const outcome = outcomeOf(answer, ['set', 'appended', 'conflict'])
  return {
    outcome: outcome === 'conflict' ? 'conflict' : 'set',
    key: operation.key,
    handle: handleOf(operation),
    dueAt: operation.dueAt,
    revision: answer.outcome === 'set' ? answer.revision : undefined,
  }
}

/** The outcome, if it is one of those expected; a failure is thrown. */
function outcomeOf<const Outcome extends SubmitAnswer['outcome']>(
  answer: SubmitAnswer,
  expected: readonly Outcome[],
): Outcome {
  if (answer.outcome === 'failed') throw answer.error
  const outcome = expected.find((each) => each === answer.outcome)
  if (outcome === undefined)
    throw new Error(`unexpected answer ${answer.outcome}, expected ${expected.join(', ')}`)
  return outcome
}
