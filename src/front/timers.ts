import { type Handle, type HandleMany, type Handler, Handlers } from '../delivery/index.js'
import { Engine, type EngineSettings, type EngineStats, type SubmitAnswer } from '../engine/index.js'
import { checkFunction, InvalidInputError, shown, StateError } from '../error/index.js'
import type { Counts, HistoryNote, Listed, RequestedOperation, Store } from '../store/index.js'
import type { Clock, Wake } from '../time/index.js'
import { checkKey, handleOf, parseHandle, type TimerHandle } from '../timer/index.js'
import { boundsOf, type DrainBounds, type Drained, type DrainOptions } from './drain.js'
import { type HistoryPolicy, noteOf, notesOfAttempt, type TimerEvent } from './history-policy.js'
import { type AnyKind, type KindOptions, timer, type TimerKind } from './kind.js'
import { outcomeOf } from './outcome.js'
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
import { type Redriven, type RedrivenBeside, Redrives } from './redrives.js'
import { validated } from './schema.js'
import { type Many, type Named, Selection, type WhichDead } from './selection.js'
import { type SetManyRow, type SetOptions, type SetRequest, setRequestOf } from './set-request.js'
import { type PauseOutcome, type ResumeOutcome, TimerPauses } from './timer-pauses.js'
import { type DeadView, dueAtOfRow, type TimerView } from './timer-view.js'
import type { TimersEvent } from './timers-event.js'
import { dueAtOf, type Instant, type When } from './when.js'

/** What `set` answers. */
export interface SetTimer {
  /**
   * 'conflict': `ifAbsent` or `ifRevision` did not hold, and nothing was changed; what follows then tells of the
   * timer that stands there, if one still does.
   */
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

export interface ManyOptions {
  /** Only count what would be changed. */
  readonly dryRun?: boolean
}

/** How many had each outcome; with `dryRun` only `found`. */
export type ManyOutcome<Outcome extends string> = { readonly found: number } & {
  readonly [Name in Outcome]?: number
}

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

const SHORTEST_PRUNE_MS = 600_000
const LONGEST_PRUNE_MS = 86_400_000

/** The front door: sets, moves, cancels and handles timers on a store. Made by `openTimers`. */
export class Timers implements AsyncDisposable {
  readonly #parts: TimersParts
  readonly #handlers: Handlers
  readonly #engine: Engine
  readonly #records: Records
  readonly #selection: Selection
  readonly #pauses: Pauses
  readonly #timerPauses: TimerPauses
  readonly #redrives: Redrives
  readonly #allowance = { left: Infinity }
  readonly #wakes = new Set<Wake>()
  readonly #listeners = new Set<(event: TimersEvent) => void>()
  #isStarted = false
  #stopping: Promise<void> | undefined
  #draining: Promise<unknown> | undefined

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
    this.#records = new Records({
      store,
      clock,
      namespace,
      progressOf: (row) => this.#engine.progressOf(row),
    })
    this.#timerPauses = new TimerPauses({
      engine: this.#engine,
      records: this.#records,
      noted: (event, facts) => this.#noted(event, facts),
    })
    this.#redrives = new Redrives({
      engine: this.#engine,
      store,
      clock,
      random,
      noted: (event, facts) => this.#noted(event, facts),
    })
    this.#selection = new Selection({ store, records: this.#records, namespace })
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

  /** Loads and fires from now on. Idempotent. */
  async start(): Promise<void> {
    this.#checkOpen()
    await this.#draining
    if (this.#isStarted) return
    this.#isStarted = true
    await this.#engine.start()
    // Where nobody shares the store, only this instance pauses anything.
    if (!this.#parts.holdsAll) {
      this.#every(this.#engine.settings.acquireMs, async () => {
        if (await this.#pauses.look()) this.#engine.refresh()
      })
    }
    const { historyMs } = this.#parts
    if (historyMs !== Infinity) this.#every(pruneMsOf(historyMs), () => this.#prune())
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
  async drain(options: DrainOptions = {}): Promise<Drained> {
    const bounds = boundsOf(options)
    this.#checkOpen()
    if (this.#isStarted)
      throw new StateError('started', 'these timers fire by themselves: drain those that were not started')
    // One pass at a time: a second one waits for the first.
    const before = this.#draining
    const draining = (async () => {
      await before
      return await this.#drain(bounds)
    })()
    this.#draining = draining.catch(() => undefined)
    return await draining
  }

  async #drain({ maxTimeMs, maxTimers }: DrainBounds): Promise<Drained> {
    const { clock, historyMs } = this.#parts
    const until = clock.monotonic() + maxTimeMs
    const before = this.#engine.stats().counts.fired
    this.#allowance.left = maxTimers
    await this.#pauses.look()
    await this.#engine.start()
    let isCaughtUp = false
    while (!isCaughtUp && this.#allowance.left > 0 && clock.monotonic() < until) {
      await this.#wait(Math.min(5, maxTimeMs))
      isCaughtUp = this.#engine.shards.length > 0 && this.#engine.isCaughtUp
    }
    await this.#engine.rest()
    this.#allowance.left = Infinity
    if (historyMs !== Infinity) await this.#prune()
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

  /** The function that gets the firings of every kind that has no handler of its own, one by one. */
  handleOthers(handle: Handle<unknown>, options: KindOptions<unknown> = {}): void {
    checkFunction('handleOthers', handle)
    this.#handlers.addOthers({ ...handlerOf(timer('others', options), 1000), one: handle, many: undefined })
    this.#engine.refresh()
  }

  // ---- timers

  /** Sets a timer; one of the same key is replaced. Without a key one is made up. */
  async set<Payload>(
    kind: TimerKind<Payload>,
    key: string | undefined,
    options: SetOptions<Payload>,
  ): Promise<SetTimer> {
    const [answer] = await this.#setAll(kind, [options], () => key)
    return answer!
  }

  /** Sets many timers of one kind in one go; one answer each. */
  async setMany<Payload>(
    kind: TimerKind<Payload>,
    rows: readonly SetManyRow<Payload>[],
  ): Promise<readonly SetTimer[]> {
    return await this.#setAll(kind, rows, (index) => rows[index]!.key)
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
      kind?: AnyKind
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
  dead(query: { kind?: AnyKind; key?: string } & PageOptions = {}): Promise<Listed<DeadView>> {
    return this.#records.dead(query)
  }

  /**
   * Sets dead letters again, due now: those of these ids, or all that a query finds. A timer that stands under
   * the key of one is not replaced: the dead one is set beside it, and the answer says where.
   */
  async redrive(which: WhichDead): Promise<Redriven> {
    let count = 0
    const beside: RedrivenBeside[] = []
    for await (const letters of this.#selection.dead(which)) {
      const redriven = await this.#redrives.redrive(letters)
      count += redriven.count
      beside.push(...redriven.beside)
    }
    return { count, beside }
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
   * resumed. Other instances hear of it within about two seconds. A timer that is set, moved or fired now is
   * no longer paused.
   */
  pause(kind?: AnyKind): Promise<'paused'>
  pause(kind: AnyKind, key: string): Promise<PauseOutcome>
  async pause(kind?: AnyKind, key?: string): Promise<PauseOutcome> {
    if (kind !== undefined && key !== undefined) return await this.#timerPauses.pause(this.#named(kind, key))
    await this.#putPause(kind, true)
    return 'paused'
  }

  /** Ends a pause. A timer that was not paused stays as it is, and the answer is the same. */
  resume(kind?: AnyKind): Promise<'resumed'>
  resume(kind: AnyKind, key: string): Promise<ResumeOutcome>
  async resume(kind?: AnyKind, key?: string): Promise<ResumeOutcome> {
    if (kind !== undefined && key !== undefined) return await this.#timerPauses.resume(this.#named(kind, key))
    await this.#putPause(kind, false)
    return 'resumed'
  }

  async #putPause(kind: AnyKind | undefined, isPaused: boolean): Promise<void> {
    this.#checkOpen()
    await this.#pauses.put(kind && nameOfKind(kind), isPaused)
    this.#engine.refresh()
  }

  // ---- within

  #checkOpen(): void {
    if (this.#stopping !== undefined)
      throw new StateError('stopped', 'these timers were stopped: open others')
  }

  async #prune(): Promise<void> {
    const { store, clock, historyMs } = this.#parts
    await store.pruneHistory(clock.now() - historyMs)
  }

  #tell(event: TimersEvent): void {
    for (const listener of [this.#parts.onEvent, ...this.#listeners]) {
      try {
        listener(event)
      } catch {
        // Whatever befalls a listener, timers fire.
      }
    }
  }

  async #setAll<Payload>(
    kind: TimerKind<Payload>,
    rows: readonly SetOptions<Payload>[],
    keyOf: (index: number) => string | undefined,
  ): Promise<readonly SetTimer[]> {
    const { namespace, clock, random, history, store } = this.#parts
    const { schema } = kind
    if (schema !== undefined) for (const { payload } of rows) await validated(kind.name, schema, payload)
    this.#checkOpen()
    const place = { namespace, now: clock.now(), random, history, maxPayloadBytes: store.maxPayloadBytes }
    const operations = rows.map((row, index) => setRequestOf(kind, keyOf(index), row, place))
    const answers = await this.#engine.submit(operations)
    const set = answers.map((answer, index) => setTimerOf(operations[index]!, answer))
    return set.some(({ outcome }) => outcome === 'conflict') ? await this.#withStanding(set, operations) : set
  }

  /** Whoever met a condition that did not hold is told of the timer that stands there. */
  async #withStanding(
    set: readonly SetTimer[],
    operations: readonly SetRequest[],
  ): Promise<readonly SetTimer[]> {
    const indexes = [...set.keys()].filter((index) => set[index]!.outcome === 'conflict')
    const rows = await this.#parts.store.find(indexes.map((index) => operations[index]!))
    const given = [...set]
    for (const [at, index] of indexes.entries()) {
      const row = rows[at]
      if (row === undefined) continue
      const { key, revision } = row
      given[index] = { outcome: 'conflict', key, handle: handleOf(row), dueAt: dueAtOfRow(row), revision }
    }
    return given
  }

  #concurrencyOf(kind: string): number {
    return this.#pauses.isPaused(kind) ? 0 : this.#handlers.concurrencyOf(kind)
  }

  async #move(name: Named, dueAt: number): Promise<MoveOutcome> {
    const [answer] = await this.#engine.submit([this.#moveOf(name, dueAt)])
    return outcomeOf(answer!, ['moved', 'firing', 'settled', 'unknown'])
  }

  #moveOf(name: Named, dueAt: number): RequestedOperation {
    return { type: 'move', ...name, dueAt, ...this.#noted('moved', { dueAt }) }
  }

  #cancelOf(name: Named): RequestedOperation {
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
    change: (name: Named) => RequestedOperation,
  ): Promise<ManyOutcome<Outcome>> {
    const counts: Record<string, number> & { found: number } = { found: 0 }
    for await (const names of this.#selection.timers(many)) {
      counts.found += names.length
      if (dryRun) continue
      for (const answer of await this.#engine.submit(names.map(change))) {
        if (answer.outcome === 'failed') throw answer.error
        counts[answer.outcome] = (counts[answer.outcome] ?? 0) + 1
      }
    }
    return counts
  }

  #named(of: AnyKind | TimerHandle, key: string | undefined): Named {
    if (key === undefined) {
      if (typeof of === 'string') return this.#ownHandle(of)
      throw new InvalidInputError(
        'invalid-key',
        `name the key of the ${of.name}, or give a handle, got ${shown(key)}`,
      )
    }
    checkKey(key)
    return { namespace: this.#parts.namespace, kind: nameOfKind(of), key }
  }

  #ownHandle(handle: TimerHandle): Named {
    const name = parseHandle(handle)
    if (name.namespace === this.#parts.namespace) return name
    throw new InvalidInputError(
      'invalid-handle',
      `this is a handle of the namespace ${shown(name.namespace)}, these are the timers of ${shown(this.#parts.namespace)}`,
    )
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
    // Handlers have half of the time to end by themselves, and half of it to end because they are told to.
    const patience = this.#parts.clock.wakeAfter(this.#engine.settings.stopMs / 2, () => {
      this.#handlers.abortAll(new StateError('stopped', 'these timers are being stopped'))
    })
    await this.#engine.stop()
    patience.cancel()
    if (this.#parts.ownsStore) await this.#parts.store.stop()
  }
}

/** How often old history is dropped: a hundredth of its retention is soon enough. */
function pruneMsOf(historyMs: number): number {
  return Math.min(Math.max(historyMs / 100, SHORTEST_PRUNE_MS), LONGEST_PRUNE_MS)
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
