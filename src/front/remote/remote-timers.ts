import { Client, type ClientOptions } from '../../client/index.js'
import type { Handle, HandleMany, LeasedFiring, TargetForm, TargetView } from '../../delivery/index.js'
import { CarillonError, checkFunction, checkOptions, checkInteger, StoreError } from '../../error/index.js'
import type { Listed } from '../../store/index.js'
import type { Clock, Duration } from '../../time/index.js'
import {
  checkKey,
  type DeadView,
  keyOfSet,
  type QuotaLimits,
  type QuotaView,
  type SetTimer,
  type SetTimers,
  type TimerHandle,
  type TimerView,
} from '../../timer/index.js'
import type { CancelOutcome, ChangeOptions, MoveOutcome } from '../change/changes.js'
import type { ManyOptions, ManyOutcome } from '../change/many-changes.js'
import type { Redriven } from '../change/redrives.js'
import type { Many, WhichDead } from '../change/selection.js'
import type { PauseOutcome, ResumeOutcome } from '../change/timer-pauses.js'
import { MAX_PAGE_ITEMS, MAX_PAGE_ITEMS_OF_SERVER, PAGE_ITEMS } from '../defaults.js'
import { type Drained, drainBoundsOf, type DrainOptions } from '../deliver/drain.js'
import { batchHandlerOf, handlerOf } from '../deliver/handler-of.js'
import type {
  AckOptions,
  AckOutcome,
  ExtendOutcome,
  LeaseRequestOptions,
  ReleaseOptions,
  ReleaseOutcome,
} from '../deliver/leases.js'
import { FrontDoor } from '../front-door.js'
import { type AnyKind, checkKindMade, isKind, type TimerKind, type UnknownKind } from '../kind.js'
import { NamespaceTimers } from '../namespace-timers.js'
import type { TimerEvent } from '../read/history-policy.js'
import type { ForecastOptions, ForecastSlice, PageOptions, TimerQuery, Why } from '../read/records.js'
import type { SetManyRow, SetOptions } from '../set/set-request.js'
import { missingKey } from '../timer-names.js'
import type { TimersEvent } from '../timers-event.js'
import type { Instant, When } from '../when.js'
import { refuseLocalOnly } from './local-only.js'
import { ManyAtServer } from './many-at-server.js'
import { checkRows, moveTimeOf } from './remote-input.js'
import { RemoteWorkers } from './remote-workers.js'

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
 * The front door on a server: does over HTTP what `Timers` does on a store. Handlers run in this process, for firings
 * that the server leases to it. What only a store can do is missing, and throws 'not-over-http'. `openTimers` makes it.
 * Proven by test/client/remote-timers.test.ts and test/client/restart.test.ts.
 */
export class RemoteTimers extends FrontDoor {
  readonly #parts: RemoteParts
  readonly #client: Client
  readonly #workers: RemoteWorkers
  readonly #many: ManyAtServer
  readonly #namespaces = new NamespaceTimers((namespace) => this.#openWithin(namespace))

  static {
    refuseLocalOnly(this.prototype)
  }

  constructor(parts: RemoteParts) {
    super(parts.onEvent)
    const { url, options, namespace, clock, random, leaseMs } = parts
    const { listeners } = this
    const client = new Client(url, { ...options, namespace, clock, random })
    this.#parts = parts
    this.#client = client
    this.#workers = new RemoteWorkers({ client, clock, random, listeners, leaseMs })
    this.#many = new ManyAtServer(client)
  }

  // ---- life cycle

  /** Fails if there is no server, or if it refuses the API key. */
  async open(): Promise<void> {
    await this.#client.kinds()
  }

  async within(namespace: string): Promise<RemoteTimers> {
    this.checkOpen()
    return namespace === this.#parts.namespace ? this : await this.#namespaces.of(namespace)
  }

  protected async startFiring(): Promise<void> {
    await this.#workers.start()
    await this.#namespaces.start()
  }

  protected async stopFiring(): Promise<void> {
    await Promise.all([this.#workers.stop(), this.#namespaces.stop()])
  }

  /** Fires only timers of kinds with a handler here. */
  protected async drainDue(options: DrainOptions): Promise<Drained> {
    return await this.#workers.drain(drainBoundsOf(options))
  }

  // ---- handlers, targets and workers

  protected handleOne(kind: UnknownKind, handle: Handle<unknown>, isTransactional: boolean): void {
    if (isTransactional)
      throw new StoreError(
        'no-transactions',
        'transaction: true needs a PostgreSQL store: these timers are on a server',
      )
    this.#workers.add({ ...handlerOf(kind), one: handle, many: undefined })
  }

  handleMany<Payload>(kind: TimerKind<Payload, never>, handle: HandleMany<Payload>): void {
    checkKindMade(kind)
    checkFunction('handleMany', handle)
    this.#workers.add(batchHandlerOf(kind, handle))
  }

  async setTarget(kind: AnyKind, target: TargetForm): Promise<TargetView> {
    this.checkOpen()
    return (await this.#client.setTarget(kind, target)) as TargetView
  }

  async getTarget(kind: AnyKind): Promise<TargetView | undefined> {
    return (await this.#client.getTarget(kind)) as TargetView | undefined
  }

  async listTargets(): Promise<readonly TargetView[]> {
    return (await this.#client.listTargets()) as readonly TargetView[]
  }

  async removeTarget(kind: AnyKind): Promise<'removed' | 'unknown'> {
    this.checkOpen()
    return await this.#client.removeTarget(kind)
  }

  protected async leaseFirings(
    kinds: AnyKind | readonly AnyKind[],
    options: LeaseRequestOptions,
  ): Promise<readonly LeasedFiring[]> {
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

  // ---- setting and changing

  protected async setTimer(
    kind: UnknownKind,
    keyOrOptions: string | SetOptions<unknown>,
    options: SetOptions<unknown> = keyOrOptions as SetOptions<unknown>,
  ): Promise<SetTimer> {
    checkKindMade(kind)
    const key = keyOfSet(kind, keyOrOptions, options)
    const row = key === undefined ? options : { ...options, key }
    await checkRows(kind, [row], this.#parts.clock.now())
    this.checkOpen()
    const result = await (key === undefined
      ? this.#client.set(kind, options)
      : this.#client.set(kind, key, options))
    const { outcome, handle, dueAt, revision } = result
    return { outcome, key: result.key, handle, dueAt, revision }
  }

  async setMany<Payload, Input>(
    kind: TimerKind<Payload, Input>,
    rows: readonly SetManyRow<NoInfer<Input>>[],
  ): Promise<SetTimers> {
    checkKindMade(kind)
    await checkRows(kind, rows, this.#parts.clock.now())
    this.checkOpen()
    return await this.#client.setMany(kind, rows)
  }

  protected async moveTimer(
    kindOrHandle: AnyKind,
    key: string | undefined,
    when: When | undefined,
    options: ChangeOptions,
  ): Promise<MoveOutcome | 'conflict'> {
    this.checkOpen()
    const time = moveTimeOf(when, this.#parts.clock.now())
    if (key === undefined) return await this.#client.moveHandle(handleOf(kindOrHandle), time)
    return await orIfUnknownKind(kindOrHandle, 'unknown', this.#client.move(kindOrHandle, key, time, options))
  }

  protected async fireTimerNow(
    kindOrHandle: AnyKind,
    key: string | undefined,
    options: ChangeOptions,
  ): Promise<MoveOutcome | 'conflict'> {
    this.checkOpen()
    return await orIfUnknownKind(kindOrHandle, 'unknown', this.#client.fireNow(kindOrHandle, key, options))
  }

  protected async cancelTimer(
    kindOrHandle: AnyKind,
    key: string | undefined,
    options: ChangeOptions,
  ): Promise<CancelOutcome | 'conflict'> {
    this.checkOpen()
    return await orIfUnknownKind(kindOrHandle, 'unknown', this.#client.cancel(kindOrHandle, key, options))
  }

  async moveMany(many: Many, when: When, options: ManyOptions = {}): Promise<ManyOutcome<MoveOutcome>> {
    this.checkOpen()
    const time = moveTimeOf(when, this.#parts.clock.now())
    return await this.#many.change(many, options, {
      byKeys: (kind, keys) => this.#client.moveMany(kind, keys, time),
      byHandles: (handles) => this.#client.moveHandles(handles, time),
    })
  }

  async cancelMany(many: Many, options: ManyOptions = {}): Promise<ManyOutcome<CancelOutcome>> {
    this.checkOpen()
    return await this.#many.change(many, options, {
      byKeys: (kind, keys) => this.#client.cancelMany(kind, keys),
      byHandles: (handles) => this.#client.cancelHandles(handles),
    })
  }

  async redrive(which: WhichDead): Promise<Redriven> {
    this.checkOpen()
    return await this.#client.redrive(which)
  }

  // ---- reading

  protected async getTimer(kindOrHandle: AnyKind, key: string | undefined): Promise<TimerView | undefined> {
    return await orIfUnknownKind(kindOrHandle, undefined, this.#client.get(kindOrHandle, key))
  }

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

  async kinds(): Promise<readonly string[]> {
    return await this.#client.kinds()
  }

  // ---- quotas and pauses

  async setQuota(limits: QuotaLimits | undefined): Promise<void> {
    this.checkOpen()
    await this.#client.setQuota(limits)
  }

  async getQuota(): Promise<QuotaView> {
    return await this.#client.getQuota()
  }

  async paused(): Promise<{ readonly all: boolean; readonly kinds: readonly string[] }> {
    return await this.#client.paused()
  }

  protected async pauseTimer(kind: AnyKind, key: string): Promise<PauseOutcome> {
    this.checkOpen()
    return await orIfUnknownKind(kind, 'unknown', this.#client.pause(kind, key))
  }

  protected async resumeTimer(kind: AnyKind, key: string): Promise<ResumeOutcome> {
    this.checkOpen()
    return await orIfUnknownKind(kind, 'unknown', this.#client.resume(kind, key))
  }

  protected async putPause(kind: AnyKind | undefined, isPaused: boolean): Promise<void> {
    this.checkOpen()
    await (isPaused ? this.#client.pause(kind) : this.#client.resume(kind))
  }

  // ---- helpers

  /** Combines several pages of the server into one, because they are shorter than the library's. */
  async #pages<Item>(
    { kind, limit = PAGE_ITEMS, cursor }: PageOptions & { readonly kind?: AnyKind },
    page: (of: { limit: number; cursor: string | undefined }) => Promise<Listed<Item>>,
  ): Promise<Listed<Item>> {
    checkInteger('limit', limit, 1, MAX_PAGE_ITEMS)
    const items: Item[] = []
    let at = cursor
    do {
      const of = { limit: Math.min(limit - items.length, MAX_PAGE_ITEMS_OF_SERVER), cursor: at }
      const part = await orIfUnknownKind(kind ?? '', emptyPage, page(of))
      items.push(...part.items)
      at = part.cursor
    } while (at !== undefined && items.length < limit)
    return { items, cursor: at }
  }

  async #openWithin(namespace: string): Promise<RemoteTimers> {
    const timers = new RemoteTimers({ ...this.#parts, namespace, onEvent: this.listeners.emit })
    await timers.open()
    return timers
  }
}

const emptyPage: { readonly items: readonly never[]; readonly cursor: undefined } = Object.freeze({
  items: [],
  cursor: undefined,
})

/** Without a key, the caller must have passed a handle. */
function handleOf(kindOrHandle: AnyKind): TimerHandle {
  if (typeof kindOrHandle === 'string') return kindOrHandle
  throw missingKey(kindOrHandle)
}

/** A kind that `timer()` made is valid even if the server has never seen it: it just has no timers yet. */
async function orIfUnknownKind<Result, Instead>(
  kind: AnyKind,
  instead: Instead,
  call: Promise<Result>,
): Promise<Result | Instead> {
  try {
    return await call
  } catch (error) {
    const isUnknown = error instanceof CarillonError && error.code === 'unknown-kind'
    if (isUnknown && isKind(kind)) return instead
    throw error
  }
}
