import type { SubmitAnswer, TimerEngine } from '../../engine/index.js'
import type { Store } from '../../store/index.js'
import { isEnding, isRecurring, MISSED, type TimerRow, type TimerView } from '../../timer/index.js'
import { DEAD_LETTERS_OF_A_KEY } from '../defaults.js'
import type { Named } from '../kind/timer-names.js'
import { timerViewOf } from './timer-view.js'

/**
 * How finished timers ended, as far as the store remembers it: `outcomesMs`, an hour by default. Timers that were done
 * are rows that no sweep has removed yet. Dead ones are dead letters. Proven by test/front/outcomes.test.ts.
 */
export class Outcomes {
  readonly #engine: TimerEngine
  readonly #store: Store

  constructor(engine: TimerEngine, store: Store) {
    this.#engine = engine
    this.#store = store
  }

  /** The finished timers of these names that were done; undefined where none is remembered. */
  async done(names: readonly Named[]): Promise<readonly (TimerView | undefined)[]> {
    if (names.length === 0) return []
    const rows = await this.#store.findSettled(names)
    return rows.map((row, index) => {
      const { identity } = names[index]!
      if (row === undefined || (identity !== undefined && identity !== row.identity)) return undefined
      return doneViewOf(row)
    })
  }

  /** The owners know only what they have just finished. The store remembers timers that were done for longer. */
  async completeAnswers(
    names: readonly Named[],
    answers: readonly SubmitAnswer[],
  ): Promise<readonly SubmitAnswer[]> {
    const unknown = names.filter((_, index) => answers[index]!.outcome === 'unknown')
    if (unknown.length === 0) return answers
    const found = (await this.done(unknown)).values()
    return answers.map((answer) => {
      if (answer.outcome !== 'unknown') return answer
      return found.next().value === undefined ? answer : { outcome: 'settled' }
    })
  }

  /** The finished timer of this name; undefined if none is remembered. */
  async find(name: Named): Promise<TimerView | undefined> {
    const [done] = await this.done([name])
    return done ?? (await this.#dead(name))
  }

  /** Only a timer that fires once has ended with its dead letter, or one that was cancelled while it fired. */
  async #dead({ namespace, kind, key, identity }: Named): Promise<TimerView | undefined> {
    const query = { namespace, kind, key, limit: DEAD_LETTERS_OF_A_KEY }
    const { items } = await this.#store.deadLetters(query)
    const since = this.#engine.clock.now() - this.#engine.settings.outcomesMs
    const letter = items.findLast(
      ({ row, diedAt }) =>
        diedAt >= since &&
        (identity === undefined || identity === row.identity) &&
        (!isRecurring(row) || isEnding(row)),
    )
    if (letter === undefined) return undefined
    const { row, diedAt: at, reason } = letter
    const isMissed = reason.startsWith(MISSED)
    const view = {
      ...settledViewOf(row),
      settled: { outcome: isMissed ? 'missed' : 'dead', at, reason },
    } as const
    return isMissed ? { ...view, attempts: row.attempt } : view
  }
}

/** A timer that is done. It was settled no earlier than its due time and its position say. */
export function doneViewOf(row: TimerRow): TimerView {
  return { ...settledViewOf(row), settled: { outcome: 'done', at: Math.max(row.dueAt, row.position) } }
}

function settledViewOf(row: TimerRow): TimerView {
  return { ...timerViewOf(row, false), state: 'settled', attempts: row.attempt + 1 }
}
