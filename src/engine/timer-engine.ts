import type { PlainSets, RequestedOperation } from '../store/index.js'
import type { TimerRow } from '../timer/index.js'
import type { Answer, SubmitAnswer } from './answer.js'
import type { EngineStats } from './engine-stats.js'
import type { PeerAsk, PeerMember } from './peers.js'
import type { EngineSettings } from './settings.js'
import type { RowProgress } from './shard-engine.js'

/** One instance of an engine, whatever its strategy: fires timers, and carries out operations on them. */
export interface TimerEngine {
  readonly settings: EngineSettings
  /** What this instance is called among the members. */
  readonly memberId: string
  /** The instances that fire timers of this store, as far as this one has heard. */
  readonly memberIds: readonly string[]
  stats(): EngineStats
  /** Makes it known; from now on operations are carried out. */
  open(): Promise<void>
  /** Fires from now on. Opens first where that was not done. */
  start(): Promise<void>
  /** How many attempts at once can be settled by transactions of their handlers; 0 where none can. */
  readonly transactionCapacity: number
  /** Whether it was started, and everything due that it can have has been started and has ended. */
  readonly isCaughtUp: boolean
  /** Finishes attempts under way (bounded), and fires nothing more until it is started again. */
  rest(): Promise<void>
  /** Rests, and lets go of everything. Idempotent. */
  stop(): Promise<void>
  /** A handler came or went, or something was paused: more or fewer may start. */
  refresh(): void
  /** More or fewer of one kind may be under way than before. */
  refreshKind(namespace: string, kind: string): void
  /** How far a row has got in this instance; 'waiting' for one of another's. */
  progressOf(row: TimerRow): RowProgress
  /** Carries out operations on a shard of this instance, for another one; undefined, and none of it, where it is not. */
  submitFor(ask: PeerAsk): Promise<readonly Answer[] | undefined>
  /** About what the store's clock shows. */
  storeNow(): number
  /** Hears of every member that has joined by now. */
  hearMembers(): Promise<void>
  /** How another member can be asked directly; undefined where it cannot. */
  peerOf(memberId: string): PeerMember | undefined
  /** Carries out operations; one answer each. */
  submit(operations: readonly RequestedOperation[]): Promise<readonly SubmitAnswer[]>
  /** As `submit`, of plain sets in columns. Where all of them are new timers, their revisions. */
  submitPlain(sets: PlainSets): Promise<Float64Array | readonly SubmitAnswer[]>
}
