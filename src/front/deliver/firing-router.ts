import type { CallLimit, PeriodicTasks } from '../../async/index.js'
import {
  Guard,
  type GuardOptions,
  type Handle,
  type HandleMany,
  Handlers,
  type HandlerThreads,
  type HandlerThreadsStats,
  LeaseBroker,
  type Target,
  type TargetSeal,
} from '../../delivery/index.js'
import type { KindsOfNamespace } from '../../engine/index.js'
import type { KindName, Store } from '../../store/index.js'
import type { Deliver, PauseView } from '../../timer/index.js'
import { newPause, Pauses } from '../change/pauses.js'
import type { KindFacts, TargetTrouble } from '../diagnose/causes.js'
import { type KindOptions, timer, type TimerKind, type UnknownKind } from '../kind/kind.js'
import type { Kinds } from '../kind/kinds.js'
import type { Listeners } from '../event/listeners.js'
import type { NamespaceDelivery, SharedEngine } from '../shared-engine.js'
import type { DeliveryReport } from './delivery-report.js'
import { batchHandlerOf, handlerOf, threadsOf, threadHandlerOf, transactionHandlerOf } from './handler-of.js'
import { Leases } from './leases.js'
import { type StoredTarget, StoredTargets } from './stored-targets.js'
import { type LoggedEvent, type TargetEvent, Targets } from './targets.js'

interface FiringRouterParts {
  readonly store: Store
  readonly namespace: string
  readonly random: () => number
  /** For webhooks: undefined guards only those in the store, false guards none. */
  readonly guard: GuardOptions | false | undefined
  /** Encrypts the targets in the store. */
  readonly seal: TargetSeal | undefined
  readonly shared: SharedEngine
  readonly kinds: Kinds
  readonly listeners: Listeners
  readonly tasks: PeriodicTasks
  /** Throws when the timers were stopped. */
  readonly checkOpen: () => void
}

/** What an instance could do with a firing of a kind. */
export interface KindHere {
  readonly kind: string
  /** Whether it has a handler or a target that it can use. */
  readonly isHandled: boolean
  readonly trouble?: TargetTrouble
}

/**
 * Decides who gets the firings of a namespace: a handler of this program, a target, or a worker. A paused kind has a
 * concurrency of 0, so its timers wait. Proven by test/front/handlers.test.ts, test/front/targets.test.ts and
 * test/delivery/lease.test.ts.
 */
export class FiringRouter implements NamespaceDelivery {
  readonly deliver: Deliver
  readonly leases: Leases
  readonly storedTargets: StoredTargets
  readonly pauses: Pauses
  readonly #parts: FiringRouterParts
  readonly #handlers: Handlers
  readonly #broker: LeaseBroker
  readonly #targets: Targets
  readonly #troubles = new Map<string, TargetTrouble>()
  readonly #threads = new Map<string, HandlerThreads>()

  constructor(parts: FiringRouterParts) {
    const { store, namespace, random, shared, kinds, listeners } = parts
    const { engine } = shared
    // Due times refer to the store's clock.
    const { clock } = engine
    this.#parts = parts
    this.pauses = new Pauses(store, namespace)
    this.#handlers = new Handlers({
      clock,
      random,
      onFailure: (firing, error, outcome) => listeners.emit({ type: 'failed', firing, error, outcome }),
    })
    this.deliver = this.#handlers.deliver
    this.#broker = new LeaseBroker({
      clock,
      member: engine.memberId,
      onWanted: (kind) => engine.refreshKind(namespace, kind),
    })
    this.leases = new Leases({
      broker: this.#broker,
      kinds,
      claims: engine.settings.strategy === 'claim',
      isForWorkers: (kind) => this.#handlers.isForWorkers(kind),
    })
    const guard = typeof parts.guard === 'object' ? new Guard(parts.guard) : undefined
    this.#targets = new Targets({
      clock,
      random,
      guard,
      broker: this.#broker,
      onEvent: (event) => this.#onTargetEvent(event),
    })
    this.storedTargets = new StoredTargets({
      store,
      namespace,
      clock,
      seal: parts.seal,
      // The program that calls a stored URL did not choose it, so it is guarded by default.
      guard: parts.guard === false ? undefined : (guard ?? new Guard()),
      onChange: (kind, target) => this.#putStoredTarget(kind, target),
      onStoreError: listeners.emitStoreError,
    })
    shared.add(namespace, this)
  }

  /** Whether a handler for all other kinds is registered. */
  get hasOthers(): boolean {
    return this.#handlers.hasOthers
  }

  /** What keeps timers of a kind from firing, as far as this instance knows. */
  factsOf(kind: string): KindFacts {
    const { namespace, shared } = this.#parts
    return {
      kind,
      isAllPaused: this.pauses.current.all,
      pause: this.pauses.of(kind),
      trouble: this.#troubles.get(kind),
      isHandled: shared.engine.isHandled(namespace, kind),
    }
  }

  /** What this instance could do with a firing of a kind, whether the kind is paused or not. */
  kindHere(kind: string): KindHere {
    const trouble = this.#troubles.get(kind)
    return { kind, isHandled: this.#handlers.has(kind), ...(trouble !== undefined && { trouble }) }
  }

  /** What is known here about deliveries, for monitoring. */
  get report(): DeliveryReport {
    const { namespace, shared, kinds } = this.#parts
    const names = new Set([...this.#handlers.kinds, ...kinds.names])
    return {
      kinds: Array.from(names, (kind) => ({
        kind,
        isPaused: this.pauses.isPaused(kind),
        isBreakerOpen: this.#troubles.get(kind) === 'open',
        isHandled: shared.engine.isHandled(namespace, kind),
        answers: this.#targets.answers.of(kind),
        times: this.#handlers.times.of(kind),
      })),
      leased: this.#broker.leased,
      waitingWorkers: this.#broker.waiting,
    }
  }

  // ---- for the engine

  concurrencyOf(kind: string): number {
    return this.pauses.isPaused(kind) ? 0 : this.#handlers.concurrencyOf(kind)
  }

  rateOf(kind: string): number | undefined {
    return this.#handlers.rateOf(kind)
  }

  /** The kinds that have a handler here and are not paused. */
  kinds(): readonly KindName[] {
    const { namespace, kinds } = this.#parts
    const names = new Set([...this.#handlers.kinds, ...(this.#handlers.hasOthers ? kinds.names : [])])
    return [...names].filter((kind) => this.concurrencyOf(kind) > 0).map((kind) => ({ namespace, kind }))
  }

  handles(kind: string): boolean {
    return this.#handlers.has(kind)
  }

  /** The kinds whose due timers other owners may offer to this instance: not those that are paused. */
  takes(): KindsOfNamespace {
    const { namespace } = this.#parts
    const handlers = this.#handlers
    const paused = this.pauses.current
    if (paused.all) return { namespace, only: [] }
    const isTaken = (kind: string): boolean =>
      handlers.has(kind) && !handlers.isTransactional(kind) && !paused.kinds.includes(kind)
    const kinds = [...handlers.kinds]
    if (!handlers.hasOthers) return { namespace, only: kinds.filter(isTaken) }
    const except = new Set([...kinds, ...paused.kinds].filter((kind) => !isTaken(kind)))
    return { namespace, except: [...except] }
  }

  abortAll(reason: Error): void {
    this.#handlers.abortAll(reason)
  }

  stopWaiting(): void {
    this.#broker.stopWaiting()
  }

  async endThreads(): Promise<void> {
    await Promise.all([...this.#threads.values()].map((threads) => threads.end()))
  }

  threads(): HandlerThreadsStats[] {
    return [...this.#threads.values()].map(({ stats }) => stats)
  }

  // ---- for the front door

  handleOne(kind: UnknownKind, handle: Handle<unknown>, isTransactional: boolean): void {
    const { kinds, shared, store } = this.#parts
    kinds.use(kind)
    const how = isTransactional
      ? transactionHandlerOf(kind, shared.engine.transactionCapacity, store.name)
      : handlerOf(kind)
    this.#handlers.add({ ...how, one: handle, many: undefined })
    shared.engine.refresh()
  }

  /** Registers a handler on threads, once they have loaded its module. */
  async handleModule(kind: UnknownKind, module: URL, threads: number): Promise<void> {
    const { kinds, shared, checkOpen } = this.#parts
    kinds.use(kind)
    this.#handlers.checkFree(kind.name)
    const started = await threadsOf(kind, module, threads, shared.engine.clock)
    try {
      checkOpen()
      this.#handlers.add(threadHandlerOf(kind, threads, started))
    } catch (error) {
      await started.stop()
      throw error
    }
    this.#threads.set(kind.name, started)
    shared.engine.refresh()
  }

  /** Whether the handler of a kind runs on threads here. */
  isOnThreads(kind: string): boolean {
    return this.#threads.has(kind)
  }

  handleMany<Payload>(kind: TimerKind<Payload, never>, handle: HandleMany<Payload>): void {
    const { kinds, shared } = this.#parts
    kinds.use(kind)
    this.#handlers.add(batchHandlerOf(kind, handle))
    shared.engine.refresh()
  }

  handleOthers(handle: Handle<unknown>, options: KindOptions<unknown>): void {
    this.#handlers.addOthers({ ...handlerOf(timer('others', options)), one: handle, many: undefined })
    this.#parts.shared.engine.refresh()
  }

  deliverTo(kind: UnknownKind, target: Target): void {
    const { kinds, shared } = this.#parts
    kinds.use(kind)
    this.#handlers.add(this.#targets.handlerOf(kind, target))
    shared.engine.refresh()
  }

  /** Pauses a kind, all kinds when `kind` is undefined. Without a pause, it resumes them. */
  async putPause(kind: string | undefined, pause: PauseView | undefined, limit?: CallLimit): Promise<void> {
    this.#parts.checkOpen()
    await this.pauses.put(kind, pause, limit)
    this.#parts.shared.engine.refresh()
  }

  async stopTargets(): Promise<void> {
    await this.#targets.stop()
  }

  /** Waits for attempts on threads, for a limited time, and stops the threads. */
  async retireThreads(patienceMs: number): Promise<void> {
    await Promise.all([...this.#threads.values()].map((threads) => threads.retire(patienceMs)))
  }

  stopLeases(): void {
    this.#broker.stop()
  }

  #putStoredTarget(kind: string, stored: StoredTarget): void {
    this.#handlers.putStored(kind, this.#targets.storedHandlerOf(kind, stored))
    const isUseless = stored === 'refused' || stored === 'sealed'
    const state = stored === undefined ? 'removed' : isUseless ? 'refused' : 'set'
    this.#onTargetEvent({ type: 'target', kind, state })
    if (stored === 'sealed') this.#troubles.set(kind, stored)
  }

  #noteTrouble({ kind, state }: TargetEvent): void {
    if (state === 'refused' || state === 'open') this.#troubles.set(kind, state)
    // A target in the state 'trying' may still fail, so its trouble stays on record.
    else if (state !== 'trying') this.#troubles.delete(kind)
  }

  #pauseOfGone(): PauseView {
    const since = this.#parts.shared.engine.clock.now()
    const pause = newPause({ note: 'its target answered 410: it is gone', by: 'carillon' }, since)
    return { ...pause, isTargetGone: true }
  }

  #onTargetEvent(event: TargetEvent | LoggedEvent): void {
    const { listeners, shared, tasks } = this.#parts
    listeners.emit(event)
    if (event.type === 'logged') return
    this.#noteTrouble(event)
    if (event.state !== 'gone') shared.engine.refresh()
    else void tasks.once('settings', () => this.putPause(event.kind, this.#pauseOfGone()))
  }
}
