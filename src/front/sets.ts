import type { TimerEngine } from '../engine/index.js'
import type { Store } from '../store/index.js'
import type { Clock } from '../time/index.js'
import { handleOf, PayloadEncoder, type SetTimer, type SetTimers } from '../timer/index.js'
import { Answered } from './answered.js'
import type { HistoryPolicy } from './history-policy.js'
import type { TimerKind } from './kind.js'
import type { Kinds } from './kinds.js'
import type { NamespaceQuota } from './namespace-quota.js'
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
    const { engine, kinds, quota } = this.#parts
    const asked = this.requestsOf(kind, rows, keyOf, trace)
    const operations = asked instanceof Promise ? await asked : asked
    const submitted = quota.isLimited
      ? quota.within(operations, () => engine.submit(operations))
      : engine.submit(operations)
    // Together, so that neither fails unheard while the other is awaited.
    if (!kinds.isStored(kind.name)) await Promise.all([submitted, kinds.remember(kind.name)])
    const answers = await submitted
    if (answers.every(({ outcome }) => outcome === 'set' || outcome === 'appended')) {
      return new AnsweredSets(operations, answers)
    }
    const answered = new Answered<SetTimer>()
    answered.add(operations, answers, (answer, index) => setTimerOf(operations[index]!, answer))
    const set = answered.all()
    return answers.some(isConflict) ? await this.#withStanding(set, operations) : set
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
    const { namespace, clock, random, history, store, spread, checkOpen } = this.#parts
    checkOpen()
    const now = clock.now()
    const { maxPayloadBytes } = store
    const parent = parentOf(rows)
    const payloads = new PayloadEncoder(rows.length)
    const place = { namespace, now, random, history, maxPayloadBytes, payloads, spread, trace, parent }
    const placed = (): SetRequest[] => {
      checkOpen()
      return rows.map((row, index) => setRequestOf(kind, keyOf(index), row, place))
    }
    const windows = windowsOf(rows, now)
    return windows.length === 0 ? placed() : spread.prepare(windows).then(placed)
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
