import type { TimerEngine } from '../engine/index.js'
import type { RequestedOperation } from '../store/index.js'
import { Answered } from './answered.js'
import { outcomeOf } from './outcome.js'
import type { Many, Named, Selection } from './selection.js'

export interface ManyOptions {
  /** Only count what would be changed. */
  readonly dryRun?: boolean
}

/** How many had each outcome; with `dryRun` only `found`. */
export type ManyOutcome<Outcome extends string> = { readonly found: number } & {
  readonly [Name in Outcome]?: number
}

// So many are on their way at once; a batch in which anything fails is the last.
const BATCH = 1000

/** Moves or cancels many timers, batch by batch, and counts what became of them. */
export class ManyChanges {
  readonly #engine: TimerEngine
  readonly #selection: Selection

  constructor(engine: TimerEngine, selection: Selection) {
    this.#engine = engine
    this.#selection = selection
  }

  async change<const Outcome extends 'moved' | 'cancelled' | 'firing' | 'settled' | 'unknown'>(
    many: Many,
    { dryRun = false }: ManyOptions,
    expected: readonly Outcome[],
    change: (name: Named) => RequestedOperation,
  ): Promise<ManyOutcome<Outcome>> {
    const names = await this.#selection.timers(many)
    const counts: Record<string, number> & { found: number } = { found: names.length }
    if (dryRun) return counts as ManyOutcome<Outcome>
    const answered = new Answered<Outcome>()
    for (let at = 0; at < names.length; at += BATCH) {
      const batch = names.slice(at, at + BATCH)
      const answers = await this.#engine.submit(batch.map(change))
      const isWell = answered.add(batch, answers, (answer) => outcomeOf(answer, expected))
      if (!isWell) answered.all(names.length - at - batch.length)
    }
    for (const outcome of answered.all()) counts[outcome] = (counts[outcome] ?? 0) + 1
    return counts as ManyOutcome<Outcome>
  }
}
