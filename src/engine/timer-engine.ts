import type { CallLimit } from '../async/index.js'
import type { SetColumns, RequestedOperation } from '../store/index.js'
import type { Clock } from '../time/index.js'
import type { TimerName, TimerRow } from '../timer/index.js'
import type { Answer, SubmitAnswer } from './answer.js'
import type { EngineStats } from './stats.js'
import type { PeerRequest, PeerMember } from './write/peers.js'
import type { EngineSettings } from './settings.js'
import type { RowProgress } from './shard-engine.js'

/** One instance of an engine, whatever its strategy: it fires timers and carries out operations on them. */
export interface TimerEngine {
  readonly settings: EngineSettings
  /** The store's clock, as measured with every heartbeat. Due times are compared with it. */
  readonly clock: Clock
  /** The name of this instance among the members. */
  readonly memberId: string
  /** The instances that fire timers of this store, as far as this one knows. */
  readonly memberIds: readonly string[]
  stats(): EngineStats
  /** Joins the members. From now on operations are carried out. */
  open(): Promise<void>
  /** Fires from now on. Opens first if that was not done. */
  start(): Promise<void>
  /** How many attempts at once can be settled in transactions of their handlers; 0 if the store has none. */
  readonly transactionCapacity: number
  /** Whether it was started, and everything due that it can fire has been started and has ended. */
  readonly isCaughtUp: boolean
  /** Finishes attempts under way (bounded), and fires nothing more until it is started again. */
  rest(): Promise<void>
  /** Rests, and leaves the members. Idempotent. */
  stop(): Promise<void>
  /** A handler was added or removed, or a kind was paused: more or fewer timers may start. */
  refresh(): void
  /** More or fewer attempts of one kind may run than before. */
  refreshKind(namespace: string, kind: string): void
  /** How far a row has got in this instance; 'waiting' for a row of another instance. */
  progressOf(row: TimerRow): RowProgress
  /** Carries out operations for another instance; undefined, and none of it, if the shard is not here. */
  submitFor(request: PeerRequest): Promise<readonly Answer[] | undefined>
  /** The store's time as far as it is known. */
  storeNow(): number
  /** Reads all members that have joined by now. */
  hearMembers(): Promise<void>
  /** Whether this instance or another that it knows has a handler or a target for a kind. */
  isHandled(namespace: string, kind: string): boolean
  /** The members that are known to handle a kind. One that has paused it may be missing. */
  handlersOf(namespace: string, kind: string): readonly string[]
  /** How another member can be asked directly; undefined if it cannot. */
  peerOf(memberId: string): PeerMember | undefined
  /**
   * Resolves when every change that was acknowledged before this call, to any process, is in the rows of the store:
   * changes to timers of these names, or to any timer. Rejects with 'owner-unreachable' if that takes too long.
   */
  applyAcknowledged(names?: readonly TimerName[]): Promise<void>
  /**
   * Carries out operations; one answer each. When the call is over, it answers at once: 'not-done' for what was not
   * sent and never will be, 'unknown-outcome' for the rest (promise 21). Without a limit, it waits for the store.
   */
  submit(operations: readonly RequestedOperation[], limit?: CallLimit): Promise<readonly SubmitAnswer[]>
  /** As `submit`, of plain sets in columns. If all of them are new timers, answers their revisions. */
  submitPlain(sets: SetColumns, limit?: CallLimit): Promise<Float64Array | readonly SubmitAnswer[]>
}
