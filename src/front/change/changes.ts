import type { CallLimit } from '../../async/index.js'
import type { TimerEngine } from '../../engine/index.js'
import type { RequestedOperation, Store } from '../../store/index.js'
import type { CallOptions } from '../call/calls.js'
import type { AnyKind } from '../kind/kind.js'
import type { Kinds } from '../kind/kinds.js'
import type { NameTurns } from '../call/name-turns.js'
import { outcomeOf } from '../outcome.js'
import type { HistoryPolicy } from '../read/history-policy.js'
import type { Outcomes } from '../read/outcomes.js'
import type { Records } from '../read/records.js'
import type { NamespaceQuota } from '../set/namespace-quota.js'
import type { TimerLists } from '../read/timer-lists.js'
import type { Named, TimerNames } from '../kind/timer-names.js'
import type { When } from '../when.js'
import { type ChangeResult, EachChange, type TimerChange } from './each-change.js'
import { type Edited, Edits, type TimerEdit } from './edits.js'
import { ManyChanges, type ManyOptions, type ManyOutcome } from './many-changes.js'
import { Operations } from './operations.js'
import { newPause, type PauseOptions } from './pauses.js'
import { type Redriven, Redrives } from './redrives.js'
import { type Many, Selection, type WhichDead } from './selection.js'
import { type PauseOutcome, type ResumeOutcome, TimerPauses } from './timer-pauses.js'

const moveOutcomes = ['moved', 'firing', 'settled', 'unknown'] as const
const cancelOutcomes = ['cancelled', 'ending', 'firing', 'settled', 'unknown'] as const

/** What became of a timer that was to be moved. */
export type MoveOutcome = (typeof moveOutcomes)[number]
/** What became of a timer that was to be cancelled. */
export type CancelOutcome = (typeof cancelOutcomes)[number]

/** The condition and the limits of a change. */
export interface ChangeOptions extends CallOptions {
  /** Change the timer only if it has this revision. The outcome is 'conflict' otherwise. */
  readonly ifRevision?: number
}

interface ChangesParts {
  readonly engine: TimerEngine
  readonly store: Store
  readonly random: () => number
  readonly namespace: string
  readonly history: HistoryPolicy
  readonly kinds: Kinds
  readonly names: TimerNames
  readonly records: Records
  readonly lists: TimerLists
  readonly turns: NameTurns
  readonly outcomes: Outcomes
  readonly quota: NamespaceQuota
  /** Rejects a payload that a set of this kind would refuse. */
  readonly checkPayload: (kind: AnyKind, payload: unknown) => Promise<void>
}

/**
 * Changes existing timers of a namespace: one, many, or dead letters. Each call is submitted to the engine before the
 * first await if the kind is known, so calls that are not awaited keep their order. Proven by test/front/verbs.test.ts,
 * test/front/one-turn.test.ts and test/front/cancel-against-firing.test.ts.
 */
export class Changes {
  readonly #engine: TimerEngine
  readonly #store: Store
  readonly #namespace: string
  readonly #names: TimerNames
  readonly #turns: NameTurns
  readonly #operations: Operations
  readonly #selection: Selection
  readonly #many: ManyChanges
  readonly #each: EachChange
  readonly #redrives: Redrives
  readonly #pauses: TimerPauses
  readonly #edits: Edits
  readonly #outcomes: Outcomes

  constructor(parts: ChangesParts) {
    const { engine, store, random, namespace, history, kinds, names, records, lists, turns, outcomes } = parts
    const { quota, checkPayload } = parts
    const { clock } = engine
    const operations = new Operations(clock, history)
    const noted = operations.noted.bind(operations)
    this.#engine = engine
    this.#store = store
    this.#namespace = namespace
    this.#names = names
    this.#turns = turns
    this.#operations = operations
    this.#selection = new Selection({ store, lists, kinds, namespace })
    this.#outcomes = outcomes
    this.#many = new ManyChanges(engine, this.#selection, outcomes)
    this.#each = new EachChange({ engine, names, operations, outcomes })
    this.#redrives = new Redrives({ engine, store, clock, random, noted })
    this.#edits = new Edits({ engine, store, names, records, quota, checkPayload, random, noted })
    this.#pauses = new TimerPauses({ engine, records, noted })
  }

  async move(
    kindOrHandle: AnyKind,
    key: string | undefined,
    when: When | undefined,
    options: ChangeOptions,
    limit: CallLimit,
  ): Promise<MoveOutcome | 'conflict'> {
    return await this.#moveTo(kindOrHandle, key, this.#operations.dueAt(when), options, limit)
  }

  async fireNow(
    kindOrHandle: AnyKind,
    key: string | undefined,
    options: ChangeOptions,
    limit: CallLimit,
  ): Promise<MoveOutcome | 'conflict'> {
    return await this.#moveTo(kindOrHandle, key, this.#engine.clock.now(), options, limit)
  }

  async cancel(
    kindOrHandle: AnyKind,
    key: string | undefined,
    options: ChangeOptions,
    limit: CallLimit,
  ): Promise<CancelOutcome | 'conflict'> {
    const named = this.#nameOf(kindOrHandle, key)
    const name = named instanceof Promise ? await named : named
    const operation = this.#operations.cancel(name, options)
    limit.endsItself()
    const [answer] = await this.#engine.submit([operation], limit)
    return await this.#orSettled(name, outcomeOf(answer!, withConflict(cancelOutcomes, options)), limit)
  }

  async moveMany(
    many: Many,
    when: When,
    options: ManyOptions,
    limit: CallLimit,
  ): Promise<ManyOutcome<MoveOutcome>> {
    const dueAt = this.#operations.dueAt(when)
    const change = (name: Named): RequestedOperation => this.#operations.move(name, dueAt)
    return await this.#many.change(many, options, moveOutcomes, change, limit)
  }

  async cancelMany(many: Many, options: ManyOptions, limit: CallLimit): Promise<ManyOutcome<CancelOutcome>> {
    const change = (name: Named): RequestedOperation => this.#operations.cancel(name)
    return await this.#many.change(many, options, cancelOutcomes, change, limit)
  }

  async changeEach(changes: readonly TimerChange[], limit: CallLimit): Promise<readonly ChangeResult[]> {
    return await this.#each.apply(changes, limit)
  }

  async redrive(which: WhichDead, limit: CallLimit): Promise<Redriven> {
    return await this.#redrives.redrive(this.#selection.dead(which), limit)
  }

  /** Deletes dead letters and answers how many there were. A letter that is redriven meanwhile is not counted. */
  async discard(which: WhichDead): Promise<number> {
    let count = 0
    for await (const ids of this.#selection.deadIds(which))
      for (const isRemoved of await this.#store.removeDead(this.#namespace, ids)) if (isRemoved) count++
    return count
  }

  async edit(
    kind: AnyKind,
    key: string,
    edit: TimerEdit,
    { ifRevision }: ChangeOptions,
    limit: CallLimit,
  ): Promise<Edited> {
    return await this.#edits.edit(kind, key, edit, ifRevision, limit)
  }

  async pause(kind: AnyKind, key: string, options: PauseOptions, limit: CallLimit): Promise<PauseOutcome> {
    const pause = newPause(options, this.#engine.clock.now())
    return await this.#pauses.pause(await this.#names.nameOf(kind, key), pause, limit)
  }

  async resume(kind: AnyKind, key: string, limit: CallLimit): Promise<ResumeOutcome> {
    return await this.#pauses.resume(await this.#names.nameOf(kind, key), limit)
  }

  /** As `nameOf` of the names; also waits for earlier sets of this name that read the store first. */
  #nameOf(kindOrHandle: AnyKind, key: string | undefined): Named | Promise<Named> {
    const named = this.#names.nameOf(kindOrHandle, key)
    if (named instanceof Promise) return named
    return this.#turns.earlier([named])?.then(() => named) ?? named
  }

  async #moveTo(
    kindOrHandle: AnyKind,
    key: string | undefined,
    dueAt: number,
    options: ChangeOptions,
    limit: CallLimit,
  ): Promise<MoveOutcome | 'conflict'> {
    const named = this.#nameOf(kindOrHandle, key)
    const name = named instanceof Promise ? await named : named
    const operation = this.#operations.move(name, dueAt, options)
    limit.endsItself()
    const [answer] = await this.#engine.submit([operation], limit)
    return await this.#orSettled(name, outcomeOf(answer!, withConflict(moveOutcomes, options)), limit)
  }

  /**
   * The owner knows only what it has just finished. The store remembers finished timers for longer. If the call is over
   * before that is known, nothing was changed all the same.
   */
  async #orSettled<Outcome extends string>(
    name: Named,
    outcome: Outcome,
    limit: CallLimit,
  ): Promise<Outcome | 'settled'> {
    if (outcome !== 'unknown') return outcome
    return (await limit.orOver(this.#outcomes.find(name))) === undefined ? outcome : 'settled'
  }
}

/** Only a caller that set a condition may get 'conflict'. */
function withConflict<Outcome extends MoveOutcome | CancelOutcome>(
  outcomes: readonly Outcome[],
  { ifRevision }: ChangeOptions,
): readonly (Outcome | 'conflict')[] {
  return ifRevision === undefined ? outcomes : [...outcomes, 'conflict']
}
