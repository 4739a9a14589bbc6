import { type Handle, type HandleMany, type Handler, Handlers } from '../delivery/index.js'
import { Engine, type EngineSettings, type EngineStats, type SubmitAnswer } from '../engine/index.js'
import { checkFunction, checkOptions, InvalidInputError, shown, StateError } from '../error/index.js'
import type { Counts, HistoryNote, Listed, RequestedOperation, Store } from '../store/index.js'
import { type Clock, type Duration, parseDuration, type Wake } from '../time/index.js'
import {
  checkKey,
  decodeDetails,
  encodeDetails,
  handleOf,
  newIdentity,
  parseHandle,
  type TimerHandle,
  type TimerName,
} from '../timer/index.js'
import { type HistoryPolicy, noteOf, notesOfAttempt, type TimerEvent } from './history-policy.js'
import type { TimerKind } from './kind.js'
import { Pauses } from './pauses.js'
import {
  type ForecastOptions,
  type ForecastSlice,
  nameOfKind,
  type PageOptions,
  Records,
  type TimerQuery,
  type Why,
} from './records.js'
import { validated } from './schema.js'
import { type SetManyRow, type SetOptions, type SetRequest, setRequestOf } from './set-request.js'
import type { DeadView, TimerView } from './timer-view.js'
import type { TimersEvent } from './timers-event.js'
import { dueAtOf, type Instant, type When } from './when.js'

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

/** An instance, and the store beneath it. */
export interface TimersStats extends EngineStats {
  /** Timers that are set and not settled, in the whole store. */
  readonly pending: number
  /** What became of timers since the store was made. */
  readonly store: Counts
}

export type MoveOutcome = 'moved' | 'firing' | 'settled' | 'unknown'
export type CancelOutcome = 'cancelled' | 'firing' | 'settled' | 'unknown'

/** Timers by their keys, or all that a query finds. */
export type Many = { readonly kind: AnyKind; readonly keys: readonly string[] } | TimerQuery

export interface ManyOptions {
  /** Only count what would be changed. */
  readonly dryRun?: boolean
}

/** How many had each outcome; with `dryRun` only `found`. */
export type ManyOutcome<Outcome extends string> = { readonly found: number } & {
  readonly [Name in Outcome]?: number
}

export interface DrainOptions {
  /** Start nothing after this long. Default 10 s. */
  readonly maxTime?: Duration
  /** Start at most so many. Default: no limit. */
  readonly maxTimers?: number
}

type AnyKind = TimerKind<never> | TimerKind<unknown> | string

export interface TimersParts {
  readonly store: Store
  /** Whether to stop the store with the timers. */
  readonly ownsStore: boolean
  readonly clock: Clock
  readonly random: () => number
  readonly namespace: string
  readonly settings: Partial<EngineSettings>
  readonly history: HistoryPolicy
  readonly historyMs: number
  /** Claim every shard before the start, too: for a store that nobody shares. */
  readonly holdsAll: boolean
  readonly onEvent: (event: TimersEvent) => void
}

const LOOK_AT_PAUSES_MS = 2000
const PRUNE_MS = 600_000
const BATCH = 1000
// The last instant there is: where a paused timer waits.
const NEVER = 8.64e15

/** The front door: sets, moves, cancels and handles timers on a store. Made by `openTimers`. */
export class Timers implements AsyncDisposable {
  readonly #parts: TimersParts
  readonly #handlers: Handlers
  readonly #engine: Engine
  readonly #records: Records
  readonly #pauses: Pauses
  readonly #allowance = { left: Infinity }
  readonly #wakes = new Set<Wake>()
  readonly #listeners = new Set<(event: TimersEvent) => void>()
  #isStarted = false
  #stopping: Promise<void> | undefined

  constructor(parts: TimersParts) {
    const { store, clock, random, namespace, history } = parts
    this.#parts = parts
    this.#handlers = new Handlers({
      clock,
      random,
      onFailure: (firing, error, outcome) => this.#tell({ type: 'failed', firing, error, outcome }),
    })
    this.#pauses = new Pauses(store, namespace)
    this.#engine = new Engine({
      store,
      clock,
      random,
      deliver: this.#handlers.deliver,
      flow: {
        concurrencyOf: (of, kind) => (of === namespace ? this.#concurrencyOf(kind) : 0),
        rateOf: (_, kind) => this.#handlers.rateOf(kind),
        allowance: this.#allowance,
        notesOf: (firing, ending) => notesOfAttempt(history, firing, ending),
      },
      settings: parts.settings,
      holdsAll: parts.holdsAll,
      onEvent: (event) => this.#tell(event),
    })
    this.#records = new Records({ store, clock, namespace, isFiring: (row) => this.#engine.isFiring(row) })
  }

  /** The engine underneath, for those who watch it. */
  get engine(): Engine {
    return this.#engine
  }

  /** Listens until the answer is called. */
  onEvent(listener: (event: TimersEvent) => void): () => void {
    checkFunction('onEvent', listener)
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  // ---- life cycle

  async open(): Promise<void> {
    await this.#engine.open()
    await this.#pauses.look()
  }

  /** Loads and fires from now on. */
  async start(): Promise<void> {
    if (this.#stopping !== undefined)
      throw new StateError('stopped', 'these timers were stopped: open others')
    this.#isStarted = true
    await this.#engine.start()
    this.#every(LOOK_AT_PAUSES_MS, async () => {
      if (await this.#pauses.look()) this.#engine.refresh()
    })
    this.#every(PRUNE_MS, async () => {
      await this.#parts.store.pruneHistory(this.#parts.clock.now() - this.#parts.historyMs)
    })
  }

  /** Finishes attempts under way (bounded), lets go of everything. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /**
   * One bounded pass: fires what is due, waits for it, and lets go again. For functions that are called now and
   * then instead of running all the time. Answers how many attempts were started.
   */
  async drain(options: DrainOptions = {}): Promise<{ readonly fired: number; readonly isCaughtUp: boolean }> {
    checkOptions('drain', options, ['maxTime', 'maxTimers'])
    if (this.#isStarted)
      throw new StateError('started', 'these timers fire by themselves: drain those that were not started')
    const { clock } = this.#parts
    const until = clock.monotonic() + parseDuration(options.maxTime ?? '10s')
    const before = this.#engine.stats().counts.fired
    this.#allowance.left = options.maxTimers ?? Infinity
    await this.#engine.start()
    let isCaughtUp = false
    while (!isCaughtUp && this.#allowance.left > 0 && clock.monotonic() < until) {
      await this.#wait(5)
      isCaughtUp = this.#engine.shards.length > 0 && this.#engine.isCaughtUp
    }
    await this.#engine.rest()
    this.#allowance.left = Infinity
    return { fired: this.#engine.stats().counts.fired - before, isCaughtUp }
  }

  // ---- handlers

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

  // ---- timers

  /** Sets a timer; one of the same key is replaced. Without a key one is made up. */
  async set<Payload>(
    kind: TimerKind<Payload>,
    key: string | undefined,
    options: SetOptions<Payload>,
  ): Promise<SetTimer> {
    const [answer] = await this.#setAll(kind, [{ key, options }])
    return answer!
  }

  /** Sets many timers of one kind in one go; one answer each. */
  async setMany<Payload>(
    kind: TimerKind<Payload>,
    rows: readonly SetManyRow<Payload>[],
  ): Promise<readonly SetTimer[]> {
    return await this.#setAll(
      kind,
      rows.map((options) => ({ key: options.key, options })),
    )
  }

  /** Gives a timer another due time; its payload stays. By kind and key, or by handle. */
  move<Payload>(kind: TimerKind<Payload>, key: string, when: When): Promise<MoveOutcome>
  move(handle: TimerHandle, when: When): Promise<MoveOutcome>
  async move(of: AnyKind, keyOrWhen: string | When, when?: When): Promise<MoveOutcome> {
    const isByKey = typeof keyOrWhen === 'string'
    return await this.#move(
      this.#named(of, isByKey ? keyOrWhen : undefined),
      this.#dueAt(isByKey ? when : keyOrWhen),
    )
  }

  /** Fires a timer now, whenever it was due. By kind and key, or by handle. */
  fireNow<Payload>(kind: TimerKind<Payload>, key: string): Promise<MoveOutcome>
  fireNow(handle: TimerHandle): Promise<MoveOutcome>
  async fireNow(of: AnyKind, key?: string): Promise<MoveOutcome> {
    return await this.#move(this.#named(of, key), this.#parts.clock.now())
  }

  /** Takes a timer away. By kind and key, or by handle. Never silent: the answer says what became of it. */
  cancel<Payload>(kind: TimerKind<Payload>, key: string): Promise<CancelOutcome>
  cancel(handle: TimerHandle): Promise<CancelOutcome>
  async cancel(of: AnyKind, key?: string): Promise<CancelOutcome> {
    const [answer] = await this.#engine.submit([this.#cancelOf(this.#named(of, key))])
    return outcomeOf(answer!, ['cancelled', 'firing', 'settled', 'unknown'])
  }

  /** Moves timers by their keys, or all that a query finds. */
  async moveMany(many: Many, when: When, options: ManyOptions = {}): Promise<ManyOutcome<MoveOutcome>> {
    const dueAt = this.#dueAt(when)
    return await this.#changeMany(many, options, (name) => this.#moveOf(name, dueAt))
  }

  /** Cancels timers by their keys, or all that a query finds. */
  async cancelMany(many: Many, options: ManyOptions = {}): Promise<ManyOutcome<CancelOutcome>> {
    return await this.#changeMany(many, options, (name) => this.#cancelOf(name))
  }

  /** A timer as it stands; undefined when there is none. By kind and key, or by handle. */
  get<Payload>(kind: TimerKind<Payload>, key: string): Promise<TimerView<Payload> | undefined>
  get(handle: TimerHandle): Promise<TimerView | undefined>
  async get(of: AnyKind, key?: string): Promise<TimerView | undefined> {
    return await this.#records.get(this.#named(of, key))
  }

  // ---- what there is, was and will be

  list(query: TimerQuery & PageOptions = {}): Promise<Listed<TimerView>> {
    return this.#records.list(query)
  }

  /** How many timers are due in each slice of the time to come. */
  forecast(options: ForecastOptions = {}): Promise<readonly ForecastSlice[]> {
    return this.#records.forecast(options)
  }

  /** What happened, oldest first, as far as the history was told. */
  history(
    query: {
      kind?: TimerKind<never> | string
      key?: string
      from?: Instant
      until?: Instant
    } & PageOptions = {},
  ): Promise<Listed<TimerEvent>> {
    return this.#records.history(query)
  }

  /** Everything known about a key: the timer, its history, its dead letters, told in order. */
  why(kind: AnyKind, key: string): Promise<Why> {
    return this.#records.why(nameOfKind(kind), key)
  }

  /** Timers that were given up. */
  dead(
    query: { kind?: TimerKind<never> | string; key?: string } & PageOptions = {},
  ): Promise<Listed<DeadView>> {
    return this.#records.dead(query)
  }

  /** Sets dead letters again, due now: those of these ids, or all that a query finds. Answers how many. */
  async redrive(
    which: readonly string[] | { kind?: TimerKind<never> | string; key?: string },
  ): Promise<number> {
    let redriven = 0
    for await (const letter of this.#lettersOf(which)) {
      const { row } = letter
      const now = this.#parts.clock.now()
      const operation: RequestedOperation = {
        ...row,
        type: 'set',
        identity: newIdentity(this.#parts.random),
        createdAt: now,
        dueAt: now,
        attempt: 0,
        fromDead: letter.id,
        ...this.#noted('created', { dueAt: now }),
      }
      const [answer] = await this.#engine.submit([operation])
      if (outcomeOf(answer!, ['set', 'appended', 'unknown']) !== 'unknown') redriven++
    }
    return redriven
  }

  /** How it goes, here and in the store. */
  async stats(): Promise<TimersStats> {
    const store = await this.#parts.store.counts()
    const pending = store.created - store.settled - store.cancelled - store.replaced - store.dead
    return { ...this.#engine.stats(), pending, store }
  }

  // ---- pausing

  /**
   * Pauses everything, a kind, or a timer. Due times stay: what falls due meanwhile waits and fires when it is
   * resumed. Instances hear of it within about two seconds.
   */
  async pause(kind?: AnyKind, key?: string): Promise<void> {
    if (kind !== undefined && key !== undefined) return await this.#pauseTimer(nameOfKind(kind), key, true)
    await this.#pauses.put(kind && nameOfKind(kind), true)
    this.#engine.refresh()
  }

  async resume(kind?: AnyKind, key?: string): Promise<void> {
    if (kind !== undefined && key !== undefined) return await this.#pauseTimer(nameOfKind(kind), key, false)
    await this.#pauses.put(kind && nameOfKind(kind), false)
    this.#engine.refresh()
  }

  async #pauseTimer(kind: string, key: string, isPaused: boolean): Promise<void> {
    const name = this.#named(kind, key)
    const row = await this.#records.row(name)
    if (row === undefined)
      throw new StateError('unknown-timer', `there is no ${kind} of the key ${shown(key)}`)
    const { pausedDueAt, ...details } = decodeDetails(row.details)
    if (isPaused === (pausedDueAt !== undefined)) return
    const dueAt = isPaused ? NEVER : (pausedDueAt ?? row.dueAt)
    const [answer] = await this.#engine.submit([
      {
        type: 'move',
        ...name,
        ifRevision: row.revision,
        dueAt,
        details: encodeDetails(isPaused ? { ...details, pausedDueAt: row.dueAt } : details),
        ...this.#noted(isPaused ? 'paused' : 'resumed', isPaused ? {} : { dueAt }),
      },
    ])
    const outcome = outcomeOf(answer!, ['moved', 'firing', 'settled', 'unknown', 'conflict'])
    if (outcome !== 'moved')
      throw new StateError('unknown-timer', `the ${kind} of the key ${shown(key)} is ${outcome}`)
  }

  // ---- within

  #tell(event: TimersEvent): void {
    this.#parts.onEvent(event)
    for (const listener of this.#listeners) listener(event)
  }

  async #setAll<Payload>(
    kind: TimerKind<Payload>,
    rows: readonly { readonly key: string | undefined; readonly options: SetOptions<Payload> }[],
  ): Promise<readonly SetTimer[]> {
    const { namespace, clock, random, history, store } = this.#parts
    const { schema } = kind
    if (schema !== undefined)
      for (const { options } of rows) await validated(kind.name, schema, options.payload)
    const place = { namespace, now: clock.now(), random, history, maxPayloadBytes: store.maxPayloadBytes }
    const operations = rows.map(({ key, options }) => setRequestOf(kind, key, options, place))
    const answers = await this.#engine.submit(operations)
    return answers.map((answer, index) => setTimerOf(operations[index]!, answer))
  }

  #concurrencyOf(kind: string): number {
    return this.#pauses.isPaused(kind) ? 0 : this.#handlers.concurrencyOf(kind)
  }

  async #move(name: TimerName & { identity?: number }, dueAt: number): Promise<MoveOutcome> {
    const [answer] = await this.#engine.submit([this.#moveOf(name, dueAt)])
    return outcomeOf(answer!, ['moved', 'firing', 'settled', 'unknown'])
  }

  #moveOf(name: TimerName & { identity?: number }, dueAt: number): RequestedOperation {
    return { type: 'move', ...name, dueAt, ...this.#noted('moved', { dueAt }) }
  }

  #cancelOf(name: TimerName & { identity?: number }): RequestedOperation {
    return { type: 'cancel', ...name, ...this.#noted('cancelled', {}) }
  }

  #noted(event: TimerEvent['event'], facts: { readonly dueAt?: number }): { readonly note?: HistoryNote } {
    return this.#parts.history === 'all' ? { note: noteOf(this.#parts.clock.now(), event, facts) } : {}
  }

  #dueAt(when: When | undefined): number {
    if (when === undefined) throw new InvalidInputError('invalid-when', 'say when: { in } or { at }')
    if (when.on !== undefined) {
      throw new InvalidInputError(
        'invalid-when',
        'a move takes in or at; set the timer anew to give it a schedule',
      )
    }
    return dueAtOf(when, this.#parts.clock.now(), '')
  }

  async #changeMany<Outcome extends string>(
    many: Many,
    { dryRun = false }: ManyOptions,
    change: (name: TimerName & { identity?: number }) => RequestedOperation,
  ): Promise<ManyOutcome<Outcome>> {
    const counts: Record<string, number> & { found: number } = { found: 0 }
    for await (const names of this.#namesOf(many)) {
      counts.found += names.length
      if (dryRun) continue
      for (const answer of await this.#engine.submit(names.map(change))) {
        if (answer.outcome === 'failed') throw answer.error
        counts[answer.outcome] = (counts[answer.outcome] ?? 0) + 1
      }
    }
    return counts
  }

  /** The timers that are meant, in batches. Those that a query finds are named by identity: no later one is hit. */
  async *#namesOf(many: Many): AsyncGenerator<(TimerName & { identity?: number })[]> {
    if ('keys' in many) {
      for (let at = 0; at < many.keys.length; at += BATCH) {
        yield many.keys.slice(at, at + BATCH).map((key) => this.#named(nameOfKind(many.kind), key))
      }
      return
    }
    // All of them first: a moved timer would otherwise be found again farther on.
    const found: (TimerName & { identity: number })[] = []
    let cursor: string | undefined
    do {
      const page = await this.#records.rows({ ...many, limit: BATCH, cursor })
      found.push(
        ...page.items.map(({ namespace, kind, key, identity }) => ({ namespace, kind, key, identity })),
      )
      cursor = page.cursor
    } while (cursor !== undefined)
    for (let at = 0; at < found.length; at += BATCH) yield found.slice(at, at + BATCH)
  }

  async *#lettersOf(which: readonly string[] | { kind?: TimerKind<never> | string; key?: string }) {
    const { store, namespace } = this.#parts
    const ids = Array.isArray(which) ? new Set<string>(which) : undefined
    const { kind, key } = Array.isArray(which)
      ? {}
      : (which as { kind?: TimerKind<never> | string; key?: string })
    let cursor: string | undefined
    do {
      const page = await store.deadLetters({
        namespace,
        ...(kind !== undefined && { kind: nameOfKind(kind) }),
        ...(key !== undefined && { key }),
        limit: BATCH,
        cursor,
      })
      for (const letter of page.items) if (ids?.has(letter.id) !== false) yield letter
      cursor = page.cursor
    } while (cursor !== undefined)
  }

  #named(of: AnyKind | TimerHandle, key: string | undefined): TimerName & { identity?: number } {
    if (key === undefined) {
      if (typeof of === 'string') return parseHandle(of)
      throw new InvalidInputError(
        'invalid-key',
        `name the key of the ${of.name}, or give a handle, got ${shown(key)}`,
      )
    }
    checkKey(key)
    return { namespace: this.#parts.namespace, kind: nameOfKind(of), key }
  }

  /** Does something now and then, until the stop. */
  #every(ms: number, work: () => Promise<void>): void {
    const go = async (): Promise<void> => {
      this.#wakes.delete(wake)
      try {
        await work()
      } catch {
        // A store in trouble is reported by the engine; the next time may be better.
      }
      if (this.#stopping === undefined) this.#every(ms, work)
    }
    const wake = this.#parts.clock.wakeAfter(ms, () => void go(), { keepAlive: false })
    this.#wakes.add(wake)
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#parts.clock.wakeAfter(ms, resolve)
    })
  }

  async #stop(): Promise<void> {
    for (const wake of this.#wakes) wake.cancel()
    await this.#engine.stop()
    if (this.#parts.ownsStore) await this.#parts.store.stop()
  }
}

function handlerOf<Payload>(kind: TimerKind<Payload>, concurrency: number): Omit<Handler, 'one' | 'many'> {
  const { schema } = kind
  return {
    kind: kind.name,
    concurrency: kind.concurrency ?? concurrency,
    rate: kind.rate,
    timeoutMs: kind.timeoutMs,
    retry: kind.retry,
    check: schema && ((payload) => validated(kind.name, schema, payload)),
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
  if (outcome === undefined) {
    throw new Error(`unexpected answer ${answer.outcome}, expected ${expected.join(', ')}`)
  }
  return outcome
}
