import type { TimerEngine } from '../../engine/index.js'
import { checkOptions, InvalidInputError } from '../../error/index.js'
import type { Listed, Store } from '../../store/index.js'
import { type Duration, parseDuration } from '../../time/index.js'
import {
  epochMsOf,
  type Instant,
  checkKey,
  type DeadView,
  type TimerName,
  type TimerRow,
  type TimerView,
} from '../../timer/index.js'
import { MAX_EVENTS_OF_WHY, MAX_FORECAST_SLICES } from '../defaults.js'
import type { Cause } from '../diagnose/causes.js'
import type { Diagnosis } from '../diagnose/diagnosis.js'
import type { AnyKind } from '../kind/kind.js'
import type { Kinds } from '../kind/kinds.js'
import type { Named } from '../kind/timer-names.js'
import { sentencesOf, type TimerEvent, timerEventOf } from './history-policy.js'
import { doneViewOf, type Outcomes } from './outcomes.js'
import { limitOf, type PageOptions, type TimerLists } from './timer-lists.js'
import { deadViewOf, timerViewOf } from './timer-view.js'

/** Which span a forecast covers, and in which slices. */
export interface ForecastOptions {
  readonly kind?: AnyKind
  /** Default: now. */
  readonly from?: Instant
  /** How much time to cover. Default one hour. */
  readonly over?: Duration
  /** The length of a slice. Default one minute. */
  readonly slice?: Duration
}

/** How many timers are due in one slice of time. */
export interface ForecastSlice {
  readonly fromInclusive: number
  readonly untilExclusive: number
  readonly count: number
}

/** All that is known about a key. */
export interface Why {
  /** The current timer, or one that has ended and is still remembered; undefined when there is none. */
  readonly timer: TimerView | undefined
  readonly events: readonly TimerEvent[]
  readonly dead: readonly DeadView[]
  /** The events and the current state as sentences, in order, and why a due timer does not fire. */
  readonly told: readonly string[]
  /** Why a due timer does not fire, as far as it is known. */
  readonly causes: readonly Cause[]
}

/**
 * Reads a namespace: a timer, dead letters, history and forecasts. A read waits until everything is applied that was
 * acknowledged before it, to any process (promise 17). Proven by test/front/verbs.test.ts and
 * test/front/history.test.ts.
 */
export class Records {
  readonly #engine: TimerEngine
  readonly #store: Store
  readonly #namespace: string
  readonly #kinds: Kinds
  readonly #outcomes: Outcomes
  readonly #diagnosis: Diagnosis
  readonly #lists: TimerLists

  constructor(parts: {
    engine: TimerEngine
    store: Store
    namespace: string
    kinds: Kinds
    outcomes: Outcomes
    diagnosis: Diagnosis
    lists: TimerLists
  }) {
    this.#diagnosis = parts.diagnosis
    this.#lists = parts.lists
    this.#outcomes = parts.outcomes
    this.#engine = parts.engine
    this.#store = parts.store
    this.#namespace = parts.namespace
    this.#kinds = parts.kinds
  }

  async get(name: Named): Promise<TimerView | undefined> {
    const row = await this.row(name)
    if (row === undefined) return await this.#outcomes.find(name)
    const view = this.#viewOf(row)
    return view === undefined ? doneViewOf(row) : (await this.#diagnosis.withCauses([view]))[0]
  }

  async row(name: Named): Promise<TimerRow | undefined> {
    await this.#engine.applyAcknowledged([name])
    const [row] = await this.#store.find([name])
    return name.identity === undefined || row?.identity === name.identity ? row : undefined
  }

  /** The current rows with these names, in the same order. A timer that is done here has none. */
  async current(names: readonly TimerName[]): Promise<readonly (TimerRow | undefined)[]> {
    if (names.length === 0) return []
    await this.#engine.applyAcknowledged(names)
    const rows = await this.#store.find(names)
    return rows.map((row) => (row && this.#engine.progressOf(row) === 'over' ? undefined : row))
  }

  async forecast(options: ForecastOptions): Promise<readonly ForecastSlice[]> {
    checkOptions('forecast', options, ['kind', 'from', 'over', 'slice'])
    const { kind, from, over = '1h', slice = '1m' } = options
    const fromInclusive = from === undefined ? this.#engine.clock.now() : epochMsOf(from)
    const sliceMs = Math.max(1, parseDuration(slice))
    const untilExclusive = fromInclusive + parseDuration(over)
    if ((untilExclusive - fromInclusive) / sliceMs > MAX_FORECAST_SLICES) {
      throw new InvalidInputError(
        'invalid-option',
        `a forecast may have at most ${MAX_FORECAST_SLICES} slices: use longer slices`,
      )
    }
    await this.#engine.applyAcknowledged()
    const counts = await this.#store.histogram({
      namespace: this.#namespace,
      ...(await this.#lists.ofKind(kind)),
      fromInclusive,
      untilExclusive,
      sliceMs,
    })
    return counts.map((count, index) => {
      const start = fromInclusive + index * sliceMs
      return { fromInclusive: start, untilExclusive: Math.min(start + sliceMs, untilExclusive), count }
    })
  }

  async dead(query: { kind?: AnyKind; key?: string } & PageOptions): Promise<Listed<DeadView>> {
    checkOptions('dead', query, ['kind', 'key', 'limit', 'cursor'])
    const { items, cursor } = await this.#store.deadLetters({
      namespace: this.#namespace,
      ...(await this.#lists.ofKind(query.kind)),
      ...(query.key !== undefined && { key: query.key }),
      limit: limitOf(query),
      cursor: query.cursor,
    })
    return { items: items.map(deadViewOf), cursor }
  }

  async history(
    query: { kind?: AnyKind; key?: string; from?: Instant; until?: Instant } & PageOptions,
  ): Promise<Listed<TimerEvent>> {
    checkOptions('history', query, ['kind', 'key', 'from', 'until', 'limit', 'cursor'])
    const { items, cursor } = await this.#store.history({
      namespace: this.#namespace,
      ...(await this.#lists.ofKind(query.kind)),
      ...(query.key !== undefined && { key: query.key }),
      ...(query.from !== undefined && { fromInclusive: epochMsOf(query.from) }),
      ...(query.until !== undefined && { untilExclusive: epochMsOf(query.until) }),
      limit: limitOf(query),
      cursor: query.cursor,
    })
    return { items: items.map(timerEventOf), cursor }
  }

  /** All that is known about a key, in order, as far as the history keeps it. */
  async why(kindGiven: AnyKind, key: string): Promise<Why> {
    const kind = await this.#kinds.nameOf(kindGiven)
    checkKey(key)
    const events: TimerEvent[] = []
    let cursor: string | undefined
    do {
      const page = await this.history({ kind, key, limit: MAX_EVENTS_OF_WHY, cursor })
      events.push(...page.items)
      cursor = page.cursor
    } while (cursor !== undefined && events.length < MAX_EVENTS_OF_WHY)
    // A hand-over is written only after the attempt that follows it.
    events.sort((a, b) => a.at - b.at)
    const timer = await this.get({ namespace: this.#namespace, kind, key })
    const dead = (await this.dead({ kind, key })).items
    const causes = await this.#causesOf(timer)
    const told = [
      ...sentencesOf(events),
      ...currentStateOf(timer, events.at(-1)),
      ...causes.map(({ text, remedy }) => `it does not fire: ${text}. To do: ${remedy}`),
    ]
    return { timer, events, dead, told, causes }
  }

  async #causesOf(timer: TimerView | undefined): Promise<readonly Cause[]> {
    const isWaiting = timer !== undefined && timer.settled === undefined && timer.state !== 'firing'
    if (!isWaiting || timer.dueAt > this.#engine.clock.now()) return []
    return await this.#diagnosis.ofTimer({ namespace: this.#namespace, kind: timer.kind, key: timer.key })
  }

  /** Undefined for a timer that is done here, but that the store still has until the next settlement. */
  #viewOf(row: TimerRow): TimerView | undefined {
    const progress = this.#engine.progressOf(row)
    return progress === 'over' ? undefined : timerViewOf(row, progress === 'firing')
  }
}

/** The current state of a timer as a sentence, unless its history ends with it. */
function currentStateOf(timer: TimerView | undefined, last: TimerEvent | undefined): string[] {
  if (timer === undefined) return []
  const { state, dueAt, settled } = timer
  if (settled !== undefined && (last?.event === 'settled' || last?.event === 'dead')) return []
  if (settled === undefined) return [`now ${state}, due ${new Date(dueAt).toISOString()}`]
  const { outcome, at, reason } = settled
  if (outcome === 'dead')
    return [`settled as a dead letter at ${new Date(at).toISOString()}: ${reason ?? ''}`]
  return [`settled as done, not before ${new Date(at).toISOString()}`]
}
