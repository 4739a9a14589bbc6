import type { CallOptions, Timers } from '../../front/index.js'
import type { Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import {
  DEAD_SURVEY_BUDGET_MS,
  DEAD_SURVEY_ROWS,
  MAX_DEAD_GROUPS,
  MAX_DEAD_SURVEYS,
  MAX_SURVEYED_DEAD,
  MAX_VERIFY_MS,
} from '../defaults.js'
import { BackgroundCount, type Counted } from './background-count.js'
import { groupReasonOf } from './dead-reason.js'

/** Dead letters of one kind with a like reason. */
export interface DeadGroup {
  readonly kind: string
  readonly reason: string
  readonly count: number
  readonly firstAt: number
  readonly lastAt: number
  /** The id of the newest of them. */
  readonly sampleId: string
  /** How many died in each slice of time. */
  readonly slices: readonly number[]
}

export interface GroupQuery {
  readonly kind?: string
  readonly fromInclusive: number
  readonly untilExclusive: number
  readonly sliceMs: number
}

interface Group {
  readonly kind: string
  readonly reason: string
  readonly diedAt: number[]
  sampleId: string
  lastAt: number
}

/** The dead letters of a namespace by kind and reason. It keeps only when each died. */
export class DeadSurvey {
  readonly #groups = new Map<string, Group>()
  readonly #countOf = new Map<string, number>()
  /** How many letters it has. */
  total = 0
  /** Whether there are no more. */
  isComplete = true

  add(id: string, kind: string, givenReason: string, diedAt: number): void {
    this.total++
    this.#countOf.set(kind, this.countOf(kind) + 1)
    const reason = groupReasonOf(givenReason)
    const name = JSON.stringify([kind, reason])
    let group = this.#groups.get(name)
    if (group === undefined) {
      group = { kind, reason, diedAt: [], sampleId: id, lastAt: diedAt }
      this.#groups.set(name, group)
    }
    group.diedAt.push(diedAt)
    if (diedAt < group.lastAt) return
    group.lastAt = diedAt
    group.sampleId = id
  }

  countOf(kind: string): number {
    return this.#countOf.get(kind) ?? 0
  }

  /** The groups with letters in a span of time, those with the most first. */
  groups({ kind, fromInclusive, untilExclusive, sliceMs }: GroupQuery): readonly DeadGroup[] {
    const sliceCount = Math.max(1, Math.ceil((untilExclusive - fromInclusive) / sliceMs))
    const groups: DeadGroup[] = []
    for (const group of this.#groups.values()) {
      if (kind !== undefined && group.kind !== kind) continue
      const slices = new Array<number>(sliceCount).fill(0)
      let count = 0
      let firstAt = Infinity
      let lastAt = -Infinity
      for (const at of group.diedAt) {
        if (at < fromInclusive || at >= untilExclusive) continue
        slices[Math.floor((at - fromInclusive) / sliceMs)]!++
        count++
        firstAt = Math.min(firstAt, at)
        lastAt = Math.max(lastAt, at)
      }
      if (count === 0) continue
      const { reason, sampleId } = group
      groups.push({ kind: group.kind, reason, count, firstAt, lastAt, sampleId, slices })
    }
    return groups.toSorted((a, b) => b.count - a.count).slice(0, MAX_DEAD_GROUPS)
  }

  /** When the first of the letters died; undefined without any. */
  get firstAt(): number | undefined {
    let first = Infinity
    for (const { diedAt } of this.#groups.values()) for (const at of diedAt) if (at < first) first = at
    return first === Infinity ? undefined : first
  }
}

/** Surveys the dead letters of namespaces, in the background. Proven by test/server/views/dead-groups.test.ts. */
export class DeadSurveys {
  readonly #timers: Timers
  readonly #store: Store
  readonly #clock: Clock
  readonly #counts = new Map<string, BackgroundCount<DeadSurvey>>()

  constructor(timers: Timers, store: Store, clock: Clock) {
    this.#timers = timers
    this.#store = store
    this.#clock = clock
  }

  newest(namespace: string, limits?: CallOptions): Promise<Counted<DeadSurvey>> {
    let count = this.#counts.get(namespace)
    if (count === undefined) count = new BackgroundCount(this.#clock, () => this.#survey(namespace))
    // The one that was not used for longest is first.
    this.#counts.delete(namespace)
    this.#counts.set(namespace, count)
    const [oldest] = this.#counts.keys()
    if (this.#counts.size > MAX_DEAD_SURVEYS) this.#counts.delete(oldest!)
    const newest = count
    return this.#timers.bounded(limits, () => newest.newest())
  }

  #survey(namespace: string): Promise<DeadSurvey> {
    return this.#timers.bounded({ timeout: MAX_VERIFY_MS }, async () => {
      const survey = new DeadSurvey()
      let cursor: string | undefined
      do {
        const page = await this.#store.deadLetters({
          namespace,
          limit: DEAD_SURVEY_ROWS,
          budgetMs: DEAD_SURVEY_BUDGET_MS,
          cursor,
        })
        for (const { id, row, reason, diedAt } of page.items) survey.add(id, row.kind, reason, diedAt)
        cursor = page.cursor
        await this.#clock.turnEnd()
      } while (cursor !== undefined && survey.total < MAX_SURVEYED_DEAD)
      survey.isComplete = cursor === undefined
      return survey
    })
  }
}
