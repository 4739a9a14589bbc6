import type { SubmitAnswer, TimerEngine } from '../engine/index.js'
import type { Store } from '../store/index.js'
import type { Clock } from '../time/index.js'
import { handleOf, type SetTimer } from '../timer/index.js'
import { Answered } from './answered.js'
import type { HistoryPolicy } from './history-policy.js'
import type { TimerKind } from './kind.js'
import type { Kinds } from './kinds.js'
import { outcomeOf } from './outcome.js'
import { validated } from './schema.js'
import { type SetOptions, type SetRequest, setRequestOf, windowsOf } from './set-request.js'
import type { Spread } from './spread.js'
import { dueAtOfRow } from './timer-view.js'

const setOutcomes = ['set', 'appended', 'conflict'] as const

export interface SetsParts {
  readonly engine: TimerEngine
  readonly store: Store
  readonly clock: Clock
  readonly random: () => number
  readonly namespace: string
  readonly history: HistoryPolicy
  readonly kinds: Kinds
  readonly spread: Spread
  /** Throws when the timers were stopped. */
  readonly checkOpen: () => void
}

/** Sets timers: all are checked before the first is stored, and each has its answer. */
export class Sets {
  readonly #parts: SetsParts

  constructor(parts: SetsParts) {
    this.#parts = parts
  }

  async set<Payload>(
    kind: TimerKind<Payload>,
    rows: readonly SetOptions<Payload>[],
    keyOf: (index: number) => string | undefined,
  ): Promise<readonly SetTimer[]> {
    const { engine, kinds } = this.#parts
    const operations = await this.requestsOf(kind, rows, keyOf)
    const submitted = engine.submit(operations)
    // Together, so that neither fails unheard while the other is awaited.
    if (!kinds.isStored(kind.name)) await Promise.all([submitted, kinds.remember(kind.name)])
    const set = timersOf(operations, await submitted)
    return set.some(({ outcome }) => outcome === 'conflict') ? await this.#withStanding(set, operations) : set
  }

  /** What rows stand for, all of them checked. */
  async requestsOf<Payload>(
    kind: TimerKind<Payload>,
    rows: readonly SetOptions<Payload>[],
    keyOf: (index: number) => string | undefined,
  ): Promise<SetRequest[]> {
    const { namespace, clock, random, history, store, kinds, spread } = this.#parts
    kinds.use(kind)
    const { schema } = kind
    if (schema !== undefined) for (const { payload } of rows) await validated(kind.name, schema, payload)
    this.#parts.checkOpen()
    const now = clock.now()
    const windows = windowsOf(rows, now)
    if (windows.length > 0) {
      await spread.prepare(windows)
      this.#parts.checkOpen()
    }
    const place = { namespace, now, random, history, maxPayloadBytes: store.maxPayloadBytes, spread }
    return rows.map((row, index) => setRequestOf(kind, keyOf(index), row, place))
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

function timersOf(operations: readonly SetRequest[], answers: readonly SubmitAnswer[]): readonly SetTimer[] {
  const timerOf = (answer: SubmitAnswer, index: number): SetTimer => setTimerOf(operations[index]!, answer)
  if (!answers.some(({ outcome }) => outcome === 'failed')) return answers.map(timerOf)
  const answered = new Answered<SetTimer>()
  answered.add(operations, answers, timerOf)
  return answered.all()
}

function setTimerOf(operation: SetRequest, answer: SubmitAnswer): SetTimer {
  const isSet = answer.outcome === 'set' || outcomeOf(answer, setOutcomes) !== 'conflict'
  return {
    outcome: isSet ? 'set' : 'conflict',
    key: operation.key,
    handle: handleOf(operation),
    dueAt: operation.dueAt,
    revision: answer.outcome === 'set' ? answer.revision : undefined,
  }
}
