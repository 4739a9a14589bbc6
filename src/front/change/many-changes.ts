import type { CallLimit } from '../../async/index.js'
import type { TimerEngine } from '../../engine/index.js'
import { checkOptions } from '../../error/index.js'
import type { RequestedOperation } from '../../store/index.js'
import { type CallOptions, callOptionNames } from '../call/calls.js'
import { BATCH_ROWS } from '../defaults.js'
import { outcomeOf } from '../outcome.js'
import type { Outcomes } from '../read/outcomes.js'
import { PartialResults } from './partial-results.js'
import type { Named } from '../kind/timer-names.js'
import type { Many, Selection } from './selection.js'

/** The options of a bulk change. */
export interface ManyOptions extends CallOptions {
  /** Only count the timers, and change none. */
  readonly dryRun?: boolean
  /** If more timers match, the call is refused and none is changed. Default no limit. */
  readonly maxFound?: number
}

/** How many timers had each outcome; with `dryRun`, only `found`. */
export type ManyOutcome<Outcome extends string> = { readonly found: number } & {
  readonly [Name in Outcome]?: number
}

/** Moves or cancels many timers in batches, and counts the outcomes. A batch with an error is the last one. */
export class ManyChanges {
  readonly #engine: TimerEngine
  readonly #selection: Selection
  readonly #outcomes: Outcomes

  constructor(engine: TimerEngine, selection: Selection, outcomes: Outcomes) {
    this.#outcomes = outcomes
    this.#engine = engine
    this.#selection = selection
  }

  async change<const Outcome extends 'moved' | 'cancelled' | 'ending' | 'firing' | 'settled' | 'unknown'>(
    many: Many,
    options: ManyOptions,
    expected: readonly Outcome[],
    change: (name: Named) => RequestedOperation,
    limit: CallLimit,
  ): Promise<ManyOutcome<Outcome>> {
    const { dryRun = false, maxFound = Infinity } = checkedManyOptions(options)
    const names = await this.#selection.timers(many, maxFound)
    const counts: Record<string, number> & { found: number } = { found: names.length }
    if (dryRun) return counts as ManyOutcome<Outcome>
    const results = new PartialResults<Outcome>()
    for (let at = 0; at < names.length; at += BATCH_ROWS) {
      const batch = names.slice(at, at + BATCH_ROWS)
      const answers = await this.#outcomes.completeAnswers(
        batch,
        await limit.selfEnding(this.#engine.submit(batch.map(change), limit)),
      )
      const isComplete = results.add(batch, answers, (answer) => outcomeOf(answer, expected))
      if (!isComplete) results.all(names.length - at - batch.length)
    }
    for (const outcome of results.all()) counts[outcome] = (counts[outcome] ?? 0) + 1
    return counts as ManyOutcome<Outcome>
  }
}

export function checkedManyOptions(options: ManyOptions): ManyOptions {
  checkOptions('a call on many', options, ['dryRun', 'maxFound', ...callOptionNames])
  return options
}
