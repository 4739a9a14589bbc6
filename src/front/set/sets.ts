import type { CallLimit } from '../../async/index.js'
import type { SubmitAnswer, TimerEngine } from '../../engine/index.js'
import type { SetColumns, Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { PayloadEncoder, type SetTimer, type SetTimers, type TimerRow } from '../../timer/index.js'
import { PartialResults } from '../change/partial-results.js'
import { MIN_PLAIN_ROWS } from '../defaults.js'
import type { HistoryPolicy } from '../read/history-policy.js'
import type { Records } from '../read/records.js'
import type { AnyKind, UnknownKind } from '../kind/kind.js'
import type { Kinds } from '../kind/kinds.js'
import type { NameTurns } from '../call/name-turns.js'
import type { NamespaceQuota } from './namespace-quota.js'
import { type CallContext, plainSetsOf } from './plain-request.js'
import { checkCrosses, validated } from '../kind/schema.js'
import { type SetOptions, type SetRequest, setRequestOf, windowsOf } from './set-request.js'
import { currentTimerOf, SetResults, isConflict, setTimerOf } from './set-results.js'
import { RepeatedSets } from './repeated-sets.js'
import { Spread } from './spread.js'
import type { Tracing } from '../event/tracing.js'
import { UnchangedSets } from './unchanged-sets.js'

export interface SetsParts {
  readonly engine: TimerEngine
  readonly store: Store
  readonly clock: Clock
  readonly random: () => number
  readonly namespace: string
  readonly history: HistoryPolicy
  readonly kinds: Kinds
  readonly quota: NamespaceQuota
  readonly records: Records
  /** Keeps the order of this instance's calls on a name. */
  readonly turns: NameTurns
  /** Undefined when tracing is off. */
  readonly tracing: Tracing | undefined
  /** Whether payloads of a kind must be able to cross to a thread. */
  readonly mustCross: (kind: string) => boolean
  /** Throws when the timers were stopped. */
  readonly checkOpen: () => void
  readonly onStoreError: (call: string, error: unknown) => void
}

/**
 * Sets timers. All rows of a call are checked before the first is stored. A recurring set that would change nothing is
 * left out. Proven by test/front/verbs.test.ts, test/front/set-columns.test.ts, test/front/partly-done.test.ts and
 * test/front/unchanged-schedule.test.ts.
 */
export class Sets {
  readonly #parts: SetsParts
  readonly #spread: Spread
  readonly #unchanged: UnchangedSets
  readonly #repeated: RepeatedSets

  constructor(parts: SetsParts) {
    this.#parts = parts
    this.#spread = new Spread(parts)
    this.#unchanged = new UnchangedSets(parts.records)
    this.#repeated = new RepeatedSets(parts.engine, parts.store)
  }

  set(
    kind: UnknownKind,
    rows: readonly SetOptions<unknown>[],
    keyOf: (index: number) => string | undefined,
    limit: CallLimit,
  ): Promise<SetTimers> {
    const { tracing, namespace } = this.#parts
    if (tracing === undefined) return this.#set(kind, rows, keyOf, limit, undefined)
    const where = { namespace, kind: kind.name, count: rows.length }
    return tracing.setting(where, parentOf(rows), (trace) => this.#set(kind, rows, keyOf, limit, trace))
  }

  async #set(
    kind: UnknownKind,
    rows: readonly SetOptions<unknown>[],
    keyOf: (index: number) => string | undefined,
    limit: CallLimit,
    trace: string | undefined,
  ): Promise<SetTimers> {
    const { engine, turns } = this.#parts
    limit.endsItself()
    const plain = this.#plainSetsOf(kind, rows, keyOf, trace)
    if (plain !== undefined) {
      const earlier = turns.isIdle ? undefined : turns.earlier(plain.operations())
      if (earlier !== undefined) await limit.orNotDone(earlier)
      const answers = await this.#submitted(kind, engine.submitPlain(plain, limit), limit)
      return answers instanceof Float64Array
        ? newTimers(plain, answers)
        : await this.#timersOf(plain.operations(), answers, limit)
    }
    const requests = this.requestsOf(kind, rows, keyOf, trace)
    const operations = requests instanceof Promise ? await limit.orNotDone(requests) : requests
    const mayBeKnown = rows.some(({ on, idempotencyKey }) => on !== undefined || idempotencyKey !== undefined)
    if (mayBeKnown) return await this.#setChanged(kind, rows, operations, limit)
    const earlier = turns.earlier(operations)
    if (earlier !== undefined) await limit.orNotDone(earlier)
    const submitted = this.#submit(kind, operations, limit)
    return await this.#timersOf(operations, await this.#submitted(kind, submitted, limit), limit)
  }

  /** Sets rows of which some have a schedule or an idempotency key. Those that would change nothing are not submitted. */
  async #setChanged(
    kind: UnknownKind,
    rows: readonly SetOptions<unknown>[],
    operations: readonly SetRequest[],
    limit: CallLimit,
  ): Promise<SetTimers> {
    const { known, submitted } = await limit.orNotDone(
      this.#parts.turns.run(operations, async () => {
        const repeated = await this.#repeated.find(rows, operations)
        const isRecurring = (index: number): boolean => rows[index]!.on !== undefined && !repeated.has(index)
        const unchanged = await this.#unchanged.find(operations, isRecurring)
        const found = new Map<number, KnownSet>()
        for (const [index, row] of repeated) found.set(index, { outcome: 'set', row })
        for (const [index, row] of unchanged) found.set(index, { outcome: 'unchanged', row })
        const changed = operations.filter((_, index) => !found.has(index))
        // A call that is over by now submits nothing.
        const isOver = changed.length === 0 || limit.isOver
        const answers = isOver ? Promise.resolve([]) : this.#submit(kind, changed, limit)
        // The turn ends here: the answers are awaited outside of it.
        return { known: found, submitted: this.#submitted(kind, answers, limit) }
      }),
    )
    const answers = (await submitted).values()
    const all = operations.map((_, index): SubmitAnswer => {
      const row = known.get(index)?.row
      if (row === undefined) return answers.next().value!
      return { outcome: 'set', revision: row.revision, replaced: undefined }
    })
    return await this.#timersOf(operations, all, limit, known)
  }

  #submit(
    kind: UnknownKind,
    operations: readonly SetRequest[],
    limit: CallLimit,
  ): Promise<readonly SubmitAnswer[]> {
    const { engine, quota } = this.#parts
    // With a quota the kind is stored once the sets are admitted: a refused set leaves nothing behind.
    return quota.isLimited
      ? quota.within(operations, () => this.#remembered(kind, engine.submit(operations, limit), limit), limit)
      : engine.submit(operations, limit)
  }

  /** Stores the kind of sets that are under way, unless their quota has to admit them first. */
  async #submitted<Answers>(
    kind: UnknownKind,
    submitted: Promise<Answers>,
    limit: CallLimit,
  ): Promise<Answers> {
    return await (this.#parts.quota.isLimited ? submitted : this.#remembered(kind, submitted, limit))
  }

  async #remembered<Answers>(
    { name }: UnknownKind,
    submitted: Promise<Answers>,
    limit: CallLimit,
  ): Promise<Answers> {
    const { kinds } = this.#parts
    if (kinds.isStored(name)) return await submitted
    // Awaited together, so that neither rejection is unhandled while the other is pending. The sets are what the caller
    // waits for: when the call is over, the kind is stored in the background.
    const [answers] = await Promise.all([submitted, limit.orOver(kinds.remember(name))])
    return answers
  }

  /** Turns the engine's answers into the caller's results. `known` has the sets that changed nothing. */
  async #timersOf(
    operations: readonly SetRequest[],
    answers: readonly SubmitAnswer[],
    limit: CallLimit,
    known: ReadonlyMap<number, KnownSet> = noneKnown,
  ): Promise<SetTimers> {
    const timerOf = (answer: SubmitAnswer, index: number): SetTimer => {
      const set = known.get(index)
      return set === undefined ? setTimerOf(operations[index]!, answer) : currentTimerOf(set.outcome, set.row)
    }
    if (answers.every(({ outcome }) => outcome === 'set' || outcome === 'appended')) {
      return new SetResults(answers.length, (index) => timerOf(answers[index]!, index))
    }
    const results = new PartialResults<SetTimer>()
    results.add(operations, answers, timerOf)
    const set = results.all()
    if (!answers.some(isConflict)) return set
    // If the call is over first, the outcomes are known all the same.
    return (await limit.orOver(this.#withCurrent(set, operations))) ?? set
  }

  /** The rows as columns, all checked; undefined if a row has more options or the quota must be asked. */
  #plainSetsOf(
    kind: UnknownKind,
    rows: readonly SetOptions<unknown>[],
    keyOf: (index: number) => string | undefined,
    trace: string | undefined,
  ): SetColumns | undefined {
    const { kinds, quota, checkOpen } = this.#parts
    if (rows.length < MIN_PLAIN_ROWS) return undefined
    kinds.use(kind)
    if (kind.schema !== undefined || quota.isLimited) return undefined
    checkOpen()
    return plainSetsOf(kind, rows, keyOf, this.#contextOf(trace))
  }

  /** The operations for rows, all checked. A promise only if a schema or a forecast must be awaited. */
  requestsOf(
    kind: UnknownKind,
    rows: readonly SetOptions<unknown>[],
    keyOf: (index: number) => string | undefined,
    trace?: string,
  ): SetRequest[] | Promise<SetRequest[]> {
    this.#parts.kinds.use(kind)
    const build = (): SetRequest[] | Promise<SetRequest[]> => this.#build(kind, rows, keyOf, trace)
    return kind.schema === undefined
      ? build()
      : allValid(kind, rows, this.#parts.mustCross(kind.name)).then(build)
  }

  /** Rejects a payload that the schema of the kind refuses. The name of a kind has no schema. */
  async checkPayload(kind: AnyKind, payload: unknown): Promise<void> {
    if (typeof kind === 'string') return
    this.#parts.kinds.use(kind)
    await allValid(kind, [{ payload }], this.#parts.mustCross(kind.name))
  }

  #build(
    kind: UnknownKind,
    rows: readonly SetOptions<unknown>[],
    keyOf: (index: number) => string | undefined,
    trace: string | undefined,
  ): SetRequest[] | Promise<SetRequest[]> {
    const { checkOpen } = this.#parts
    const spread = this.#spread
    checkOpen()
    const context = {
      ...this.#contextOf(trace),
      payloads: new PayloadEncoder(rows.length),
      spread,
      parent: parentOf(rows),
    }
    const requests = (): SetRequest[] => {
      checkOpen()
      return rows.map((row, index) => setRequestOf(kind, keyOf(index), row, context))
    }
    const windows = windowsOf(rows, context.now)
    return windows.length === 0 ? requests() : spread.prepare(windows).then(requests)
  }

  /** What all sets of a call have in common. */
  #contextOf(trace: string | undefined): CallContext {
    const { namespace, clock, random, history, store } = this.#parts
    return { namespace, now: clock.now(), random, history, maxPayloadBytes: store.maxPayloadBytes, trace }
  }

  /** Where a condition failed, the result describes the existing timer. */
  async #withCurrent(
    set: readonly SetTimer[],
    operations: readonly SetRequest[],
  ): Promise<readonly SetTimer[]> {
    const indexes = [...set.keys()].filter((index) => set[index]!.outcome === 'conflict')
    const rows = await this.#parts.store.find(indexes.map((index) => operations[index]!))
    const given = [...set]
    for (const [at, index] of indexes.entries()) {
      const row = rows[at]
      if (row !== undefined) given[index] = currentTimerOf('conflict', row)
    }
    return given
  }
}

/** A set that changed nothing: it was done before, or the timer was as it should be. */
interface KnownSet {
  readonly outcome: 'set' | 'unchanged'
  readonly row: TimerRow
}

const noneKnown: ReadonlyMap<number, KnownSet> = new Map()

/** The results of plain sets that are all new timers, with these revisions. */
function newTimers(sets: SetColumns, revisions: Float64Array): SetResults {
  return new SetResults(sets.length, (index) =>
    setTimerOf(sets.operation(index), { outcome: 'set', revision: revisions[index]!, replaced: undefined }),
  )
}

/** The parent of a call's trace: the traceparent of its rows, if all have the same one. */
function parentOf(rows: readonly { readonly traceparent?: string }[]): string | undefined {
  const first = rows[0]?.traceparent
  if (first === undefined) return undefined
  return rows.every(({ traceparent }) => traceparent === first) ? first : undefined
}

async function allValid(
  { name, schema }: UnknownKind,
  rows: readonly { readonly payload?: unknown }[],
  mustCross: boolean,
): Promise<void> {
  if (schema === undefined) return
  for (const { payload } of rows) {
    const value = await validated(name, schema, payload)
    if (mustCross) checkCrosses(name, value)
  }
}
