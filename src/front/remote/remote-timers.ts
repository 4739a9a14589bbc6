import { Client, type ClientOptions } from '../../client/index.js'
import type {
  Handle,
  HandleMany,
  HandleInTransaction,
  LeasedFiring,
  TargetForm,
  TargetView,
} from '../../delivery/index.js'
import {
  CarillonError,
  checkFunction,
  checkOptions,
  checkWhole,
  InvalidInputError,
  shown,
  StateError,
  StoreError,
} from '../../error/index.js'
import type { Listed } from '../../store/index.js'
import { type Clock, type Duration, parseDuration } from '../../time/index.js'
import {
  checkKey,
  type DeadView,
  type QuotaLimits,
  type QuotaView,
  type SetTimer,
  type SetTimers,
  type TimerHandle,
  type TimerView,
} from '../../timer/index.js'
import type { Drained, DrainOptions } from '../drain.js'
import { handlerOf } from '../handler-of.js'
import type { TimerEvent } from '../history-policy.js'
import { InnerTimers } from '../inner-timers.js'
import { type AnyKind, isKind, type TimerKind } from '../kind.js'
import type {
  AckOptions,
  AckOutcome,
  ExtendOutcome,
  LeaseRequestOptions,
  ReleaseOptions,
  ReleaseOutcome,
} from '../leases.js'
import { Listeners } from '../listeners.js'
import type { ManyOptions, ManyOutcome } from '../many-changes.js'
import type { ForecastOptions, ForecastSlice, PageOptions, TimerQuery, Why } from '../records.js'
import type { Redriven } from '../redrives.js'
import type { Many, WhichDead } from '../selection.js'
import type { SetManyRow, SetOptions } from '../set-request.js'
import type { PauseOutcome, ResumeOutcome } from '../timer-pauses.js'
import type { CancelOutcome, ChangeOptions, MoveOutcome, TimersApi, TimersStats } from '../timers.js'
import type { TimersEvent } from '../timers-event.js'
import type { Instant, When } from '../when.js'
import { ManyAtServer } from './many-at-server.js'
import { RemoteWorkers } from './remote-workers.js'
import { checkRows, moveTimeOf } from './remote-input.js'

export interface RemoteParts {
  readonly url: string
  readonly options: ClientOptions
  readonly namespace: string
  readonly clock: Clock
  readonly random: () => number
  readonly leaseMs: number
  readonly onEvent: (event: TimersEvent) => void
}

/**
 * The front door of a server: what `Timers` does, over HTTP. Handlers run in this process, for firings that the server
 * leases to it. What cannot be had over HTTP fails with 'not-over-http'. Made by `openTimers`.
 */
export class RemoteTimers implements TimersApi {
  readonly #parts: RemoteParts
  readonly #client: Client
  readonly #workers: RemoteWorkers
  readonly #listeners: Listeners
  readonly #many: ManyAtServer
  readonly #inner = new InnerTimers((namespace) => this.#openWithin(namespace))
  #isStarted = false
  #stopping: Promise<void> | undefined

  constructor(parts: RemoteParts) {
    const { url, options, namespace, clock, random, leaseMs } = parts
    this.#parts = parts
    this.#client = new Client(url, { ...options, namespace, clock, random })
    this.#listeners = new Listeners(parts.onEvent)
    const listeners = this.#listeners
    this.#workers = new RemoteWorkers({ client: this.#client, clock, random, listeners, leaseMs })
    this.#many = new ManyAtServer(this.#client)
  }

  // ---- life cycle

  /** Fails where there is no server, or none that takes the key. */
  async open(): Promise<void> {
    await this.#client.kinds()
  }

  async start(): Promise<void> {
    this.#checkOpen()
    if (this.#isStarted) return
    this.#isStarted = true
    await this.#workers.start()
    await this.#inner.start()
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async within(namespace: string): Promise<RemoteTimers> {
    this.#checkOpen()
    return namespace === this.#parts.namespace ? this : await this.#inner.of(namespace)
  }

  onEvent(listener: (event: TimersEvent) => void): () => void {
    return this.#listeners.add(listener)
  }

  /** One bounded pass over what is due for the kinds that are handled here. */
  async drain(options: DrainOptions = {}): Promise<Drained> {
    this.#checkOpen()
    checkOptions('drain', options, ['maxTime', 'maxTimers'])
    const { maxTime = '10s', maxTimers = Infinity } = options
    if (maxTimers !== Infinity) checkWhole('maxTimers', maxTimers, 1)
    if (this.#isStarted)
      throw new StateError('started', 'these timers fire by themselves: drain those that were not started')
    return await this.#workers.drain(parseDuration(maxTime), maxTimers)
  }

  // ---- handlers

  handle<Payload>(
    kind: TimerKind<Payload>,
    handle: HandleInTransaction<Payload>,
    options: { readonly transaction: true },
  ): never
  handle<Payload>(
    kind: TimerKind<Payload>,
    handle: Handle<Payload>,
    options?: { readonly transaction?: false },
  ): void
  handle<Payload>(
    kind: TimerKind<Payload>,
    handle: Handle<Payload> | HandleInTransaction<Payload>,
    options: { readonly transaction?: boolean } = {},
  ): void {
    checkMade(kind)
    checkFunction('handle', handle)
    checkOptions('handle', options, ['transaction'])
    if (options.transaction === true)
      throw new StoreError('no-transactions', 'a handler for a server has no transaction with its store')
    this.#workers.add({ ...handlerOf(kind, 1000), one: handle as Handle<unknown>, many: undefined })
  }

  handleMany<Payload>(kind: TimerKind<Payload>, handle: HandleMany<Payload>): void {
    checkMade(kind)
    checkFunction('handleMany', handle)
    this.#workers.add({ ...handlerOf(kind, 50_000), one: undefined, many: handle as HandleMany<unknown> })
  }

  // ---- targets

  async setTarget(kind: AnyKind, target: TargetForm): Promise<TargetView> {
    this.#checkOpen()
    return (await this.#client.setTarget(kind, target)) as TargetView
  }

  async getTarget(kind: AnyKind): Promise<TargetView | undefined> {
    return (await this.#client.getTarget(kind)) as TargetView | undefined
  }

  async listTargets(): Promise<readonly TargetView[]> {
    return (await this.#client.listTargets()) as readonly TargetView[]
  }

  async removeTarget(kind: AnyKind): Promise<'removed' | 'unknown'> {
    this.#checkOpen()
    return await this.#client.removeTarget(kind)
  }

  // ---- workers

  lease<Payload>(
    kinds: TimerKind<Payload> | readonly TimerKind<Payload>[],
    options?: LeaseRequestOptions,
  ): Promise<readonly LeasedFiring<Payload>[]>
  lease(kinds: AnyKind | readonly AnyKind[], options?: LeaseRequestOptions): Promise<readonly LeasedFiring[]>
  async lease(
    kinds: AnyKind | readonly AnyKind[],
    options: LeaseRequestOptions = {},
  ): Promise<readonly LeasedFiring[]> {
    this.#checkOpen()
    checkOptions('lease', options, ['max', 'wait', 'duration', 'signal'])
    return await this.#client.lease(kinds, options)
  }

  async ack(receipt: string, options: AckOptions = {}): Promise<AckOutcome> {
    return await this.#client.ack(receipt, options)
  }

  async extend(receipt: string, duration: Duration): Promise<ExtendOutcome> {
    return await this.#client.extend(receipt, duration)
  }

  async release(receipt: string, options: ReleaseOptions = {}): Promise<ReleaseOutcome> {
    return await this.#client.release(receipt, options)
  }

  // ---- timers

  async set<Payload>(
    kind: TimerKind<Payload>,
    key: string | undefined,
    options: SetOptions<Payload>,
  ): Promise<SetTimer> {
    checkMade(kind)
    await checkRows(kind, [{ ...options, ...(key !== undefined && { key }) }], this.#parts.clock.now())
    this.#checkOpen()
    const answer = await this.#client.set(kind, key, options)
    return { ...pick(answer), revision: answer.revision }
  }

  async setMany<Payload>(kind: TimerKind<Payload>, rows: readonly SetManyRow<Payload>[]): Promise<SetTimers> {
    checkMade(kind)
    await checkRows(kind, rows, this.#parts.clock.now())
    this.#checkOpen()
    return await this.#client.setMany(kind, rows)
  }

  move<Payload>(kind: TimerKind<Payload> | string, key: string, when: When): Promise<MoveOutcome>
  move<Payload>(
    kind: TimerKind<Payload> | string,
    key: string,
    when: When,
    options: ChangeOptions,
  ): Promise<MoveOutcome | 'conflict'>
  move(handle: TimerHandle, when: When): Promise<MoveOutcome>
  async move(
    of: AnyKind,
    keyOrWhen: string | When,
    when?: When,
    options: ChangeOptions = {},
  ): Promise<MoveOutcome | 'conflict'> {
    this.#checkOpen()
    const now = this.#parts.clock.now()
    if (typeof keyOrWhen !== 'string')
      return await this.#client.moveHandle(handleGiven(of), moveTimeOf(keyOrWhen, now))
    const given = moveTimeOf(when, now)
    return await orNothing(of, 'unknown', this.#client.move(of, keyOrWhen, given, options))
  }

  fireNow<Payload>(kind: TimerKind<Payload> | string, key: string): Promise<MoveOutcome>
  fireNow<Payload>(
    kind: TimerKind<Payload> | string,
    key: string,
    options: ChangeOptions,
  ): Promise<MoveOutcome | 'conflict'>
  fireNow(handle: TimerHandle): Promise<MoveOutcome>
  async fireNow(of: AnyKind, key?: string, options: ChangeOptions = {}): Promise<MoveOutcome | 'conflict'> {
    this.#checkOpen()
    return await orNothing(of, 'unknown', this.#client.fireNow(of, key, options))
  }

  cancel<Payload>(kind: TimerKind<Payload> | string, key: string): Promise<CancelOutcome>
  cancel<Payload>(
    kind: TimerKind<Payload> | string,
    key: string,
    options: ChangeOptions,
  ): Promise<CancelOutcome | 'conflict'>
  cancel(handle: TimerHandle): Promise<CancelOutcome>
  async cancel(of: AnyKind, key?: string, options: ChangeOptions = {}): Promise<CancelOutcome | 'conflict'> {
    this.#checkOpen()
    return await orNothing(of, 'unknown', this.#client.cancel(of, key, options))
  }

  async moveMany(many: Many, when: When, options: ManyOptions = {}): Promise<ManyOutcome<MoveOutcome>> {
    this.#checkOpen()
    const given = moveTimeOf(when, this.#parts.clock.now())
    return await this.#many.change(many, options, {
      byKeys: (kind, keys) => this.#client.moveMany(kind, keys, given),
      byHandle: (handle) => this.#client.moveHandle(handle, given),
    })
  }

  async cancelMany(many: Many, options: ManyOptions = {}): Promise<ManyOutcome<CancelOutcome>> {
    this.#checkOpen()
    return await this.#many.change(many, options, {
      byKeys: (kind, keys) => this.#client.cancelMany(kind, keys),
      byHandle: (handle) => this.#client.cancel(handle),
    })
  }

  get<Payload>(kind: TimerKind<Payload> | string, key: string): Promise<TimerView<Payload> | undefined>
  get(handle: TimerHandle): Promise<TimerView | undefined>
  async get(of: AnyKind, key?: string): Promise<TimerView | undefined> {
    return await orNothing(of, undefined, this.#client.get(of, key))
  }

  // ---- what there is, was and will be

  async list(query: TimerQuery & PageOptions = {}): Promise<Listed<TimerView>> {
    checkOptions('list', query, ['kind', 'keyPrefix', 'tag', 'dueFrom', 'dueUntil', 'limit', 'cursor'])
    return await this.#pages(query, (page) => this.#client.list({ ...query, ...page }))
  }

  async forecast(options: ForecastOptions = {}): Promise<readonly ForecastSlice[]> {
    checkOptions('forecast', options, ['kind', 'from', 'over', 'slice'])
    return await this.#client.forecast(options)
  }

  async history(
    query: { kind?: AnyKind; key?: string; from?: Instant; until?: Instant } & PageOptions = {},
  ): Promise<Listed<TimerEvent>> {
    checkOptions('history', query, ['kind', 'key', 'from', 'until', 'limit', 'cursor'])
    return await this.#pages(
      query,
      async (page) => (await this.#client.history({ ...query, ...page })) as Listed<TimerEvent>,
    )
  }

  async why(kind: AnyKind, key: string): Promise<Why> {
    checkKey(key)
    const { timer, events, dead, told } = await this.#client.why(kind, key)
    return { timer, events: events as readonly TimerEvent[], dead, told }
  }

  async dead(query: { kind?: AnyKind; key?: string } & PageOptions = {}): Promise<Listed<DeadView>> {
    checkOptions('dead', query, ['kind', 'key', 'limit', 'cursor'])
    return await this.#pages(query, (page) => this.#client.dead({ ...query, ...page }))
  }

  async redrive(which: WhichDead): Promise<Redriven> {
    this.#checkOpen()
    return await this.#client.redrive(which)
  }

  // ---- pausing

  pause(kind?: AnyKind): Promise<'paused'>
  pause(kind: AnyKind, key: string): Promise<PauseOutcome>
  async pause(kind?: AnyKind, key?: string): Promise<PauseOutcome> {
    this.#checkOpen()
    return await orNothing(key === undefined ? '' : kind, 'unknown', this.#client.pause(kind, key))
  }

  resume(kind?: AnyKind): Promise<'resumed'>
  resume(kind: AnyKind, key: string): Promise<ResumeOutcome>
  async resume(kind?: AnyKind, key?: string): Promise<ResumeOutcome> {
    this.#checkOpen()
    return await orNothing(key === undefined ? '' : kind, 'unknown', this.#client.resume(kind, key))
  }

  async paused(): Promise<{ readonly all: boolean; readonly kinds: readonly string[] }> {
    return await this.#client.paused()
  }

  async kinds(): Promise<readonly string[]> {
    return await this.#client.kinds()
  }

  // ---- quotas

  async setQuota(limits: QuotaLimits | undefined): Promise<void> {
    this.#checkOpen()
    await this.#client.setQuota(limits)
  }

  async getQuota(): Promise<QuotaView> {
    return await this.#client.getQuota()
  }

  // ---- what cannot be had over HTTP

  get engine(): never {
    throw notOverHttp('the engine is in the server: see its statistics and events')
  }

  handleOthers(): never {
    throw notOverHttp('a server leases timers by their kinds: handle each')
  }

  deliver(): never {
    throw notOverHttp('the server delivers: say where to by setTarget')
  }

  using(): never {
    throw notOverHttp('timers cannot be set in a transaction of yours: open the store itself for that')
  }

  async stats(): Promise<TimersStats> {
    throw notOverHttp('ask the server itself: GET /v1/statistics')
  }

  // ---- within

  #checkOpen(): void {
    if (this.#stopping !== undefined)
      throw new StateError('stopped', 'these timers were stopped: open others')
  }

  /** Pages of a server are shorter than the library's: several make one. */
  async #pages<Item>(
    { kind, limit = 100, cursor }: PageOptions & { readonly kind?: AnyKind },
    page: (of: { limit: number; cursor: string | undefined }) => Promise<Listed<Item>>,
  ): Promise<Listed<Item>> {
    checkWhole('limit', limit, 1, 10_000)
    const items: Item[] = []
    let at = cursor
    do {
      const of = { limit: Math.min(limit - items.length, 1000), cursor: at }
      const part = await orNothing(kind ?? '', nothing, page(of))
      items.push(...part.items)
      at = part.cursor
    } while (at !== undefined && items.length < limit)
    return { items, cursor: at }
  }

  async #openWithin(namespace: string): Promise<RemoteTimers> {
    const timers = new RemoteTimers({
      ...this.#parts,
      namespace,
      onEvent: (event) => this.#listeners.tell(event),
    })
    await timers.open()
    return timers
  }

  async #stop(): Promise<void> {
    await Promise.all([this.#workers.stop(), this.#inner.stop()])
  }
}

const nothing: { readonly items: readonly never[]; readonly cursor: undefined } = Object.freeze({
  items: [],
  cursor: undefined,
})

function checkMade(kind: unknown): void {
  if (isKind(kind)) return
  throw new InvalidInputError('unknown-kind', `a kind is what timer('name') answers, got ${shown(kind)}`)
}

/** What is meant without a key is named by its handle. */
function handleGiven(of: AnyKind): TimerHandle {
  if (typeof of === 'string') return of
  throw new InvalidInputError('invalid-key', `name the key of the ${of.name}, or give a handle`)
}

/** A kind that `timer()` made is known to whoever has it: there are none of it yet, that is all. */
async function orNothing<Answer, Instead>(
  of: AnyKind | undefined,
  instead: Instead,
  asked: Promise<Answer>,
): Promise<Answer | Instead> {
  try {
    return await asked
  } catch (error) {
    const isUnknown = error instanceof CarillonError && error.code === 'unknown-kind'
    if (isUnknown && isKind(of)) return instead
    throw error
  }
}

function pick({ outcome, key, handle, dueAt }: Omit<SetTimer, 'revision'>): Omit<SetTimer, 'revision'> {
  return { outcome, key, handle, dueAt }
}

function notOverHttp(what: string): StoreError {
  return new StoreError('not-over-http', what)
}
