import type { Firing, Outcome } from '../../timer/index.js'
import type { Chaos } from './chaos.js'
import type { Firer, FiringCheck } from './firing-check.js'
import type { Gate } from './gate.js'
import type { Journal } from './journal.js'
import type { Attempt } from './life.js'
import type { Handling } from './plan.js'
import { randomOf, type Random } from '../random.js'

/** A process as its handlers know it. */
export interface Handler extends Firer {
  readonly instance: number
  readonly gate: Gate
}

const MOST_OCCURRENCES = 3

/**
 * Whoever the timers are for: checks each attempt as it starts and reports on it now, later or, hanging, not
 * before `releaseAll`. How an attempt ends depends on the seed and its firing id and number only, so that
 * leaving out a fault leaves the rest of the run alike.
 */
export class Receiver {
  readonly #seed: number
  readonly #handling: Handling
  readonly #chaos: Chaos
  readonly #check: FiringCheck
  readonly #journal: Journal
  readonly #hanging: { readonly gate: Gate; readonly finish: () => void }[] = []

  constructor(
    seed: number,
    handling: Handling,
    parts: { readonly chaos: Chaos; readonly check: FiringCheck; readonly journal: Journal },
  ) {
    this.#seed = seed
    this.#handling = handling
    this.#chaos = parts.chaos
    this.#check = parts.check
    this.#journal = parts.journal
  }

  deliver(firings: readonly Firing[], handler: Handler): void {
    for (const firing of firings) this.#receive(firing, handler)
  }

  /** Hanging attempts end. */
  releaseAll(): void {
    for (const { gate, finish } of this.#hanging.splice(0)) gate.enter(finish)
  }

  #receive(firing: Firing, handler: Handler): void {
    const { row } = firing
    this.#journal.count('fired')
    this.#journal.say(
      handler.member,
      () =>
        `fires ${row.identity} r${row.revision} occurrence ${row.occurrence} attempt ${firing.attempt}, ${firing.firedAt - row.dueAt} ms late`,
    )
    const attempt = this.#check.start(firing, handler)
    if (attempt === undefined) return
    const random = randomOf(this.#seed, row.identity, row.occurrence, firing.attempt)
    const finish = (): void => this.#finish(firing, attempt, handler, random)
    const takesMs = this.#chaos.attemptMs(handler.instance) ?? this.#usualMs(random)
    if (takesMs === 'forever') {
      this.#journal.count('hanging')
      this.#hanging.push({ gate: handler.gate, finish })
    } else if (takesMs === 0) finish()
    else handler.clock.wakeAfter(takesMs, finish)
  }

  #finish(firing: Firing, attempt: Attempt, handler: Handler, random: Random): void {
    const outcome = this.#outcome(firing, handler, random)
    attempt.outcome = outcome
    this.#journal.count(outcome.type)
    this.#journal.say(handler.member, () => `reports ${firing.row.identity} ${outcome.type}`)
    firing.report(outcome)
    // Only the first word counts.
    if (random.chance(0.05)) firing.report({ type: 'dead', reason: 'a second word' })
  }

  #usualMs(random: Random): number {
    if (!random.chance(this.#handling.takesTime)) return 0
    return random.scaled(1, this.#handling.maxMs)
  }

  #outcome({ row, attempt }: Firing, { clock }: Handler, random: Random): Outcome {
    const { retry, next, dead, mostAttempts } = this.#handling
    const drawn = random.fraction()
    if (attempt < mostAttempts && drawn < retry) {
      return { type: 'retry', dueAt: clock.now() + random.whole(-100, 2500), reason: 'simulated' }
    }
    if (row.occurrence < MOST_OCCURRENCES && drawn > 1 - next) {
      return { type: 'next', dueAt: clock.now() + random.whole(0, 4000) }
    }
    if (drawn <= 0.5 || drawn >= 0.5 + dead) return { type: 'done' }
    const goesOn = row.occurrence < MOST_OCCURRENCES && random.chance(0.5)
    return {
      type: 'dead',
      reason: 'simulated',
      ...(goesOn && { next: { dueAt: clock.now() + random.whole(0, 4000) } }),
    }
  }
}
