import type { CallLimit } from '../../async/index.js'
import { Client, type ClientOptions } from '../../client/index.js'
import type { Handle, HandleMany, LeasedFiring, TargetForm, TargetView } from '../../delivery/index.js'
import { CarillonError, checkFunction, checkOptions, checkInteger, StoreError } from '../../error/index.js'
import type { Listed } from '../../store/index.js'
import type { Clock, Duration } from '../../time/index.js'
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
import { type CallOptions, callOptionsOf, type Calls } from '../call/calls.js'
import type { CancelOutcome, ChangeOptions, MoveOutcome } from '../change/changes.js'
import type { ManyOptions, ManyOutcome } from '../change/many-changes.js'
import type { Redriven } from '../change/redrives.js'
import type { Many, WhichDead } from '../change/selection.js'
import type { Paused, PauseOptions } from '../change/pauses.js'
import type { PauseOutcome, ResumeOutcome } from '../change/timer-pauses.js'
import { MAX_PAGE_ITEMS, MAX_PAGE_ITEMS_OF_SERVER, PAGE_ITEMS, REMOTE_STOP_MS } from '../defaults.js'
import { type Drained, drainBoundsOf, type DrainOptions } from '../deliver/drain.js'
import { batchHandlerOf, handlerOf } from '../deliver/handler-of.js'
import {
  type AckOptions,
  type AckOutcome,
  type ExtendOutcome,
  type LeaseRequestOptions,
  type ReleaseOptions,
  type ReleaseOutcome,
  waitMsOf,
} from '../deliver/leases.js'
import type { Cause } from '../diagnose/causes.js'
import { FrontDoor } from '../front-door.js'
import { type AnyKind, checkKindMade, isKind, type TimerKind, type UnknownKind } from '../kind/kind.js'
import { NamespaceTimers } from '../namespace-timers.js'
import type { TimerEvent } from '../read/history-policy.js'
import type { ForecastOptions, ForecastSlice, Why } from '../read/records.js'
import type { CountOptions, ListOptions, PageOptions } from '../read/timer-lists.js'
import { checkQuery, type CountedTimers, type ListedTimers, type TimerQuery } from '../read/timer-query.js'
import type { SetManyRow, SetOptions } from '../set/set-request.js'
import { missingKey } from '../kind/timer-names.js'
import type { TimersEvent } from '../event/timers-event.js'
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
  readonly calls: Calls
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
  readonly #namespaces = new NamespaceTimers((namespace) => this.#openWithin(namespace))

  static {
    refuseLocalOnly(this.prototype)
  }

  constructor(parts: RemoteParts) {
    super(parts.onEvent, parts.calls)
    const { url, options, namespace, clock, random, leaseMs } = parts
    const { listeners } = this
    const client = new Client(url, { ...options, namespace, clock, random })
    this.#parts = parts
    this.#client = client
    this.#workers = new RemoteWorkers({ client, clock, random, listeners, leaseMs })
  }

  // ---- life cycle

  /** Fails if there is no server, or if it refuses the API key. */
  async open(): Promise<void> {
    await this.#client.kinds()
  }

  async within(namespace: string, options?: CallOptions): Promise<RemoteTimers> {
    this.checkOpen()
    if (namespace === this.#parts.namespace) return this
    return await this.calls.run(options, () => this.#namespaces.of(namespace))
  }

  protected async startFiring(): Promise<void> {
    await this.#workers.start()
    await this.#namespaces.start()
  }

  protected get stopMs(): number {
    return REMOTE_STOP_MS
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

  protected async handleModule(kind: UnknownKind, module: URL, threads: number): Promise<void> {
    await this.#workers.addModule(kind, module, threads)
  }

  handleMany<Payload>(kind: TimerKind<Payload, never>, handle: HandleMany<Payload>): void {
    checkKindMade(kind)
    checkFunction('handleMany', handle)
    this.#workers.add(batchHandlerOf(kind, handle))
  }

  async setTarget(kind: AnyKind, target: TargetForm, options?: CallOptions): Promise<TargetView> {
    this.checkOpen()
    return (await this.#call(options, (client) => client.setTarget(kind, target))) as TargetView
  }

  async getTarget(kind: AnyKind, options?: CallOptions): Promise<TargetView | undefined> {
    return (await this.#call(options, (client) => client.getTarget(kind))) as TargetView | undefined
  }

  async listTargets(options?: CallOptions): Promise<readonly TargetView[]> {
    return (await this.#call(options, (client) => client.listTargets())) as readonly TargetView[]
  }

  async removeTarget(kind: AnyKind, options?: CallOptions): Promise<'removed' | 'unknown'> {
    this.checkOpen()
    return await this.#call(options, (client) => client.removeTarget(kind))
  }

  protected async leaseFirings(
    kinds: AnyKind | readonly AnyKind[],
    options: LeaseRequestOptions,
  ): Promise<readonly LeasedFiring[]> {
    const { timeout, ...request } = options
    const limits = timeout === undefined ? {} : { timeout }
    const lease = (limit: CallLimit) => this.#client.limitedBy(limit).lease(kinds, request)
    return await this.calls.run(limits, lease, waitMsOf(options.wait ?? 0))
  }

  async ack(receipt: string, options: AckOptions = {}): Promise<AckOutcome> {
    return await this.#call(callOptionsOf(options), (client) => client.ack(receipt, options))
  }

  async extend(receipt: string, duration: Duration, options?: CallOptions): Promise<ExtendOutcome> {
    return await this.#call(options, (client) => client.extend(receipt, duration))
  }

  async release(receipt: string, options: ReleaseOptions = {}): Promise<ReleaseOutcome> {
    const { timeout: _, signal: __, ...release } = options
    return await this.#call(callOptionsOf(options), (client) => client.release(receipt, release))
  }

  // ---- setting and changing

  protected async setTimer(
    kind: UnknownKind,
    key: string | undefined,
    options: SetOptions<unknown>,
    limits: CallOptions | undefined,
  ): Promise<SetTimer> {
    checkKindMade(kind)
    const row = key === undefined ? options : { ...options, key }
    await checkRows(kind, [row], this.#parts.clock.now())
    this.checkOpen()
    const result = await this.#call(limits, (client) =>
      key === undefined ? client.set(kind, options) : client.set(kind, key, options),
    )
    const { outcome, handle, dueAt, revision } = result
    return { outcome, key: result.key, handle, dueAt, revision }
  }

  async setMany<Payload, Input>(
    kind: TimerKind<Payload, Input>,
    rows: readonly SetManyRow<NoInfer<Input>>[],
    limits?: CallOptions,
  ): Promise<SetTimers> {
    checkKindMade(kind)
    await checkRows(kind, rows, this.#parts.clock.now())
    this.checkOpen()
    return await this.#call(limits, (client) => client.setMany(kind, rows))
  }

  protected async moveTimer(
    kindOrHandle: AnyKind,
    key: string | undefined,
    when: When | undefined,
    options: ChangeOptions,
    limit: CallLimit,
  ): Promise<MoveOutcome | 'conflict'> {
    this.checkOpen()
    const client = this.#client.limitedBy(limit)
    const time = moveTimeOf(when, this.#parts.clock.now())
    if (key === undefined) return await client.moveHandle(handleOf(kindOrHandle), time)
    return await orIfUnknownKind(kindOrHandle, 'unknown', client.move(kindOrHandle, key, time, options))
  }

  protected async fireTimerNow(
    kindOrHandle: AnyKind,
    key: string | undefined,
    options: ChangeOptions,
    limit: CallLimit,
  ): Promise<MoveOutcome | 'conflict'> {
    this.checkOpen()
    const fired = this.#client.limitedBy(limit).fireNow(kindOrHandle, key, options)
    return await orIfUnknownKind(kindOrHandle, 'unknown', fired)
  }

  protected async cancelTimer(
    kindOrHandle: AnyKind,
    key: string | undefined,
    options: ChangeOptions,
    limit: CallLimit,
  ): Promise<CancelOutcome | 'conflict'> {
    this.checkOpen()
    const cancelled = this.#client.limitedBy(limit).cancel(kindOrHandle, key, options)
    return await orIfUnknownKind(kindOrHandle, 'unknown', cancelled)
  }

  async moveMany(many: Many, when: When, options: ManyOptions = {}): Promise<ManyOutcome<MoveOutcome>> {
    this.checkOpen()
    const time = moveTimeOf(when, this.#parts.clock.now())
    return await this.#call(callOptionsOf(options), (client) =>
      new ManyAtServer(client).change(many, options, {
        byKeys: (kind, keys) => client.moveMany(kind, keys, time),
        byHandles: (handles) => client.moveHandles(handles, time),
      }),
    )
  }

  async cancelMany(many: Many, options: ManyOptions = {}): Promise<ManyOutcome<CancelOutcome>> {
    this.checkOpen()
    return await this.#call(callOptionsOf(options), (client) =>
      new ManyAtServer(client).change(many, options, {
        byKeys: (kind, keys) => client.cancelMany(kind, keys),
        byHandles: (handles) => client.cancelHandles(handles),
      }),
    )
  }

  async redrive(which: WhichDead, options?: CallOptions): Promise<Redriven> {
    this.checkOpen()
    // It may need several requests, which end together.
    return await this.calls.run(options, (limit) => this.#client.limitedBy(limit).redrive(which))
  }

  async discard(which: WhichDead, options?: CallOptions): Promise<number> {
    this.checkOpen()
    return await this.calls.run(options, (limit) => this.#client.limitedBy(limit).discard(which))
  }

  // ---- reading

  protected async getTimer(
    kindOrHandle: AnyKind,
    key: string | undefined,
    limit: CallLimit,
  ): Promise<TimerView | undefined> {
    const read = this.#client.limitedBy(limit).get(kindOrHandle, key)
    return await orIfUnknownKind(kindOrHandle, undefined, read)
  }

  /** Joins pages of the server, because they are shorter than the library's, until one of them ends early. */
  async list(query: TimerQuery & ListOptions = {}, options?: CallOptions): Promise<ListedTimers> {
    checkQuery('list', query, ['limit', 'cursor', 'order'])
    const { kind = '', limit = PAGE_ITEMS } = query
    checkInteger('limit', limit, 1, MAX_PAGE_ITEMS)
    return await this.#call(options, async (client) => {
      const items: TimerView[] = []
      for (let { cursor } = query; ;) {
        const of = { cursor, limit: Math.min(limit - items.length, MAX_PAGE_ITEMS_OF_SERVER) }
        const page = await orIfUnknownKind(kind, noTimers, client.list({ ...query, ...of }))
        items.push(...page.items)
        cursor = page.cursor
        if (cursor === undefined || !page.complete || items.length === limit) return { ...page, items }
      }
    })
  }

  async count(query: TimerQuery & CountOptions = {}, options?: CallOptions): Promise<CountedTimers> {
    checkQuery('count', query, ['atMost', 'cursor'])
    return await this.#call(options, (client) =>
      orIfUnknownKind(query.kind ?? '', { ...noTimers, count: 0 }, client.count(query)),
    )
  }

  async forecast(query: ForecastOptions = {}, options?: CallOptions): Promise<readonly ForecastSlice[]> {
    checkOptions('forecast', query, ['kind', 'from', 'over', 'slice'])
    return await this.#call(options, (client) => client.forecast(query))
  }

  async history(
    query: { kind?: AnyKind; key?: string; from?: Instant; until?: Instant } & PageOptions = {},
    options?: CallOptions,
  ): Promise<Listed<TimerEvent>> {
    checkOptions('history', query, ['kind', 'key', 'from', 'until', 'limit', 'cursor'])
    return await this.#call(options, (client) =>
      pagesOf(query, async (page) => (await client.history({ ...query, ...page })) as Listed<TimerEvent>),
    )
  }

  async why(kind: AnyKind, key: string, options?: CallOptions): Promise<Why> {
    checkKey(key)
    const {
      timer,
      events,
      dead,
      told,
      causes = [],
    } = await this.#call(options, (client) => client.why(kind, key))
    return { timer, events: events as readonly TimerEvent[], dead, told, causes: causes as readonly Cause[] }
  }

  async dead(
    query: { kind?: AnyKind; key?: string } & PageOptions = {},
    options?: CallOptions,
  ): Promise<Listed<DeadView>> {
    checkOptions('dead', query, ['kind', 'key', 'limit', 'cursor'])
    return await this.#call(options, (client) => pagesOf(query, (page) => client.dead({ ...query, ...page })))
  }

  async kinds(options?: CallOptions): Promise<readonly string[]> {
    return await this.#call(options, (client) => client.kinds())
  }

  // ---- quotas and pauses

  async setQuota(limits: QuotaLimits | undefined, options?: CallOptions): Promise<void> {
    this.checkOpen()
    await this.#call(options, (client) => client.setQuota(limits))
  }

  async getQuota(options?: CallOptions): Promise<QuotaView> {
    return await this.#call(options, (client) => client.getQuota())
  }

  async paused(options?: CallOptions): Promise<Paused> {
    return await this.#call(options, (client) => client.paused())
  }

  protected async pauseTimer(
    kind: AnyKind,
    key: string,
    options: PauseOptions,
    limit: CallLimit,
  ): Promise<PauseOutcome> {
    this.checkOpen()
    const pausing = this.#client.limitedBy(limit).pause(kind, key, noteOf(options))
    return await orIfUnknownKind(kind, 'unknown', pausing)
  }

  protected async resumeTimer(kind: AnyKind, key: string, limit: CallLimit): Promise<ResumeOutcome> {
    this.checkOpen()
    return await orIfUnknownKind(kind, 'unknown', this.#client.limitedBy(limit).resume(kind, key))
  }

  protected async putPause(
    kind: AnyKind | undefined,
    options: PauseOptions | undefined,
    limit: CallLimit,
  ): Promise<void> {
    this.checkOpen()
    const client = this.#client.limitedBy(limit)
    await (options === undefined ? client.resume(kind) : client.pause(kind, undefined, noteOf(options)))
  }

  // ---- helpers

  /** Runs a call with a client of its own, whose requests end with the call. */
  #call<Answer>(
    options: CallOptions | undefined,
    call: (client: Client) => Promise<Answer>,
  ): Promise<Answer> {
    return this.calls.run(options, (limit) => limit.selfEnding(call(this.#client.limitedBy(limit))))
  }

  async #openWithin(namespace: string): Promise<RemoteTimers> {
    const timers = new RemoteTimers({ ...this.#parts, namespace, onEvent: this.listeners.emit })
    await timers.open()
    return timers
  }
}

/** Combines several pages of the server into one, because they are shorter than the library's. */
async function pagesOf<Item>(
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

const emptyPage: { readonly items: readonly never[]; readonly cursor: undefined } = Object.freeze({
  items: [],
  cursor: undefined,
})

const noTimers = Object.freeze({ ...emptyPage, complete: true, looked: 0 })

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

/** What a server is told of a pause. It knows itself who pauses. */
function noteOf({ note }: PauseOptions): { readonly note?: string } {
  return note === undefined ? {} : { note }
}
