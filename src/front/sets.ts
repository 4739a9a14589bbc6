import type { SubmitAnswer, TimerEngine } from '../engine/index.js'
import type { PlainSets, Store } from '../store/index.js'
import type { Clock } from '../time/index.js'
import { handleOf, PayloadEncoder, type SetTimer, type SetTimers } from '../timer/index.js'
import { Answered } from './answered.js'
import type { HistoryPolicy } from './history-policy.js'
import type { TimerKind } from './kind.js'
import type { Kinds } from './kinds.js'
import type { NamespaceQuota } from './namespace-quota.js'
import { LEAST_PLAIN, type PlainPlace, plainSetsOf } from './plain-request.js'
import { validated } from './schema.js'
import { type SetOptions, type SetRequest, setRequestOf, windowsOf } from './set-request.js'
import { AnsweredSets, isConflict, setTimerOf } from './answered-sets.js'
import type { Spread } from './spread.js'
import { dueAtOfRow } from './timer-view.js'
import type { Tracing } from './tracing.js'

export interface SetsParts {
  readonly engine: TimerEngine
  readonly store: Store
  readonly clock: Clock
  readonly random: () => number
  readonly namespace: string
  readonly history: HistoryPolicy
  readonly kinds: Kinds
  readonly spread: Spread
  readonly quota: NamespaceQuota
  /** Undefined where nothing is traced. */
  readonly tracing: Tracing | undefined
  /** Throws when the timers were stopped. */
  readonly checkOpen: () => void
}

/** Sets timers: all are checked before the first is stored, and each has its answer. */
export class Sets {
  readonly #parts: SetsParts

  constructor(parts: SetsParts) {
    this.#parts = parts
  }

  set<Payload>(
    kind: TimerKind<Payload>,
    rows: readonly SetOptions<Payload>[],
    keyOf: (index: number) => string | undefined,
  ): Promise<SetTimers> {
    const { tracing, namespace } = this.#parts
    if (tracing === undefined) return this.#set(kind, rows, keyOf, undefined)
    const where = { namespace, kind: kind.name, count: rows.length }
    return tracing.setting(where, parentOf(rows), (trace) => this.#set(kind, rows, keyOf, trace))
  }

  async #set<Payload>(
    kind: TimerKind<Payload>,
    rows: readonly SetOptions<Payload>[],
    keyOf: (index: number) => string | undefined,
    trace: string | undefined,
  ): Promise<SetTimers> {
    const { engine, quota } = this.#parts
    const plain = this.#plainSetsOf(kind, rows, keyOf, trace)
    if (plain !== undefined) {
      const answers = await this.#submitted(kind, engine.submitPlain(plain))
      return answers instanceof Float64Array
        ? newTimers(plain, answers)
        : await this.#timersOf(plain.operations(), answers)
    }
    const asked = this.requestsOf(kind, rows, keyOf, trace)
    const operations = asked instanceof Promise ? await asked : asked
    const submitted = quota.isLimited
      ? quota.within(operations, () => engine.submit(operations))
      : engine.submit(operations)
    return await this.#timersOf(operations, await this.#submitted(kind, submitted))
  }

  async #submitted<Answers>(
    { name }: { readonly name: string },
    submitted: Promise<Answers>,
  ): Promise<Answers> {
    const { kinds } = this.#parts
    // Together, so that neither fails unheard while the other is awaited.
    if (!kinds.isStored(name)) await Promise.all([submitted, kinds.remember(name)])
    return await submitted
  }

  /** The answers to sets, as their caller gets them. */
  async #timersOf(operations: readonly SetRequest[], answers: readonly SubmitAnswer[]): Promise<SetTimers> {
    if (answers.every(({ outcome }) => outcome === 'set' || outcome === 'appended')) {
      return new AnsweredSets(answers.length, (index) => setTimerOf(operations[index]!, answers[index]!))
    }
    const answered = new Answered<SetTimer>()
    answered.add(operations, answers, (answer, index) => setTimerOf(operations[index]!, answer))
    const set = answered.all()
    return answers.some(isConflict) ? await this.#withStanding(set, operations) : set
  }

  /** What rows stand for where they say little and nobody has to be asked, all of them checked. */
  #plainSetsOf<Payload>(
    kind: TimerKind<Payload>,
    rows: readonly SetOptions<Payload>[],
    keyOf: (index: number) => string | undefined,
    trace: string | undefined,
  ): PlainSets | undefined {
    const { kinds, quota, checkOpen } = this.#parts
    if (rows.length < LEAST_PLAIN) return undefined
    kinds.use(kind)
    if (kind.schema !== undefined || quota.isLimited) return undefined
    checkOpen()
    return plainSetsOf(kind, rows, keyOf, this.#place(trace))
  }

  /** What rows stand for, all of them checked. At once where nobody has to be asked. */
  requestsOf<Payload>(
    kind: TimerKind<Payload>,
    rows: readonly SetOptions<Payload>[],
    keyOf: (index: number) => string | undefined,
    trace?: string,
  ): SetRequest[] | Promise<SetRequest[]> {
    this.#parts.kinds.use(kind)
    const made = (): SetRequest[] | Promise<SetRequest[]> => this.#made(kind, rows, keyOf, trace)
    return kind.schema === undefined ? made() : allValid(kind, rows).then(made)
  }

  #made<Payload>(
    kind: TimerKind<Payload>,
    rows: readonly SetOptions<Payload>[],
    keyOf: (index: number) => string | undefined,
    trace: string | undefined,
  ): SetRequest[] | Promise<SetRequest[]> {
    const { spread, checkOpen } = this.#parts
    checkOpen()
    const place = {
      ...this.#place(trace),
      payloads: new PayloadEncoder(rows.length),
      spread,
      parent: parentOf(rows),
    }
    const placed = (): SetRequest[] => {
      checkOpen()
      return rows.map((row, index) => setRequestOf(kind, keyOf(index), row, place))
    }
    const windows = windowsOf(rows, place.now)
    return windows.length === 0 ? placed() : spread.prepare(windows).then(placed)
  }

  /** Where all sets of a call are made. */
  #place(trace: string | undefined): PlainPlace {
    const { namespace, clock, random, history, store } = this.#parts
    return { namespace, now: clock.now(), random, history, maxPayloadBytes: store.maxPayloadBytes, trace }
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
}

/** Plain sets that are all new timers, of these revisions. */
function newTimers(sets: PlainSets, revisions: Float64Array): AnsweredSets {
  return new AnsweredSets(sets.length, (index) =>
    setTimerOf(sets.operation(index), { outcome: 'set', revision: revisions[index]!, replaced: undefined }),
  )
}

/** The trace that a call goes on from: that of its rows where all have the same. One row's is no trace for the others. */
function parentOf(rows: readonly { readonly traceparent?: string }[]): string | undefined {
  const first = rows[0]?.traceparent
  if (first === undefined) return undefined
  return rows.every(({ traceparent }) => traceparent === first) ? first : undefined
}

async function allValid<Payload>(
  { name, schema }: TimerKind<Payload>,
  rows: readonly SetOptions<Payload>[],
): Promise<void> {
  if (schema !== undefined) for (const { payload } of rows) await validated(name, schema, payload)
}
