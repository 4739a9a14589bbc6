import type { Firing, Outcome } from '../../../timer/index.js'
import type { Chaos } from '../plan/chaos.js'
import type { Firer, FiringCheck } from '../check/firing-check.js'
import type { Gate } from './gate.js'
import type { Journal } from '../check/journal.js'
import type { Attempt } from './life.js'
import type { Handling } from '../plan/plan.js'
import { randomOf, type Random } from '../../random.js'

/** A process as its handlers see it. */
export interface Handler extends Firer {
  readonly instance: number
  readonly gate: Gate
  plannedNow(): number
  /** Records that something is wrong with the process from now on, for this long. */
  disturb(forMs: number): void
}

/** An attempt at a timer whose key begins with this takes as many milliseconds as the key says. */
export const SLOW_KEY = 'slow-'

const MAX_OCCURRENCES = 3

/** Firings that a process has to start, and whether it is starting one now. */
interface StartQueue {
  readonly waiting: Firing[]
  isBusy: boolean
}

/**
 * The handlers of all processes. They check each attempt as it starts, and report its outcome at once, later or, if the
 * attempt hangs, at `releaseAll`.
 *
 * The firings of a batch start one after the other. One that blocks the event loop delays the rest: each of those calls
 * `start` at its own moment, or is given back by `postpone`. Half of the blocking handlers make the clock of their
 * process jump within the turn, as a real one does. During the others the rest of the world goes on.
 *
 * How an attempt ends depends only on the seed, the firing and the attempt number. So a run without one fault stays
 * the same otherwise.
 */
export class Receiver {
  readonly #seed: number
  readonly #handling: Handling
  readonly #chaos: Chaos
  readonly #check: FiringCheck
  readonly #journal: Journal
  readonly #longestBlockMs: number
  readonly #hanging: { readonly gate: Gate; readonly finish: () => void }[] = []
  readonly #startQueues = new Map<Handler, StartQueue>()

  constructor(
    seed: number,
    handling: Handling,
    parts: {
      readonly chaos: Chaos
      readonly check: FiringCheck
      readonly journal: Journal
      /** A process whose event loop is blocked for longer counts as disturbed. */
      readonly longestBlockMs: number
    },
  ) {
    this.#seed = seed
    this.#handling = handling
    this.#chaos = parts.chaos
    this.#check = parts.check
    this.#journal = parts.journal
    this.#longestBlockMs = parts.longestBlockMs
  }

  deliver(firings: readonly Firing[], handler: Handler): void {
    const queue: StartQueue = this.#startQueues.get(handler) ?? { waiting: [], isBusy: false }
    this.#startQueues.set(handler, queue)
    const { waiting } = queue
    for (const firing of firings) {
      this.#check.delivered(firing)
      const laterMs = this.#startDelayMs(firing)
      if (laterMs === undefined) waiting.push(firing)
      else {
        handler.clock.wakeAfter(laterMs, () => {
          waiting.push(firing)
          this.#startWaiting(queue, handler)
        })
      }
    }
    this.#startWaiting(queue, handler)
  }

  /** How long after its delivery a firing starts, as with remote workers; undefined for at once. */
  #startDelayMs({ row, attempt }: Firing): number | undefined {
    const { later } = this.#handling
    if (later === 0 || this.#chaos.isCalm) return undefined
    const random = randomOf(this.#seed, row.identity, row.occurrence, attempt, 2)
    return random.chance(later) ? random.scaled(1, 3000) : undefined
  }

  /** Ends all hanging attempts. */
  releaseAll(): void {
    for (const { gate, finish } of this.#hanging.splice(0)) gate.enter(finish)
  }

  /** Starts the waiting firings one after the other, until one blocks beyond this turn. */
  #startWaiting(queue: StartQueue, handler: Handler): void {
    if (queue.isBusy) return
    queue.isBusy = true
    for (let firing = queue.waiting.shift(); firing !== undefined; firing = queue.waiting.shift()) {
      const blocking = this.#receive(firing, handler)
      if (blocking !== undefined && this.#block(queue, handler, blocking)) return
    }
    queue.isBusy = false
  }

  /** Lets an attempt block its process. Answers true if the firings behind it must wait for a later turn. */
  #block(queue: StartQueue, handler: Handler, { forMs, finish, isGivenBack, isAtOnce }: Blocking): boolean {
    const { gate, member } = handler
    this.#journal.count('blocked')
    this.#journal.log(member, () => `is blocked for ${forMs} ms`)
    const ended = (): void => {
      finish()
      if (isGivenBack) this.#giveBack(queue)
    }
    if (isAtOnce) gate.busy(forMs)
    else {
      gate.block(forMs, () => {
        ended()
        queue.isBusy = false
        this.#startWaiting(queue, handler)
      })
    }
    if (gate.busyMs > this.#longestBlockMs) handler.disturb(gate.aheadMs)
    if (isAtOnce) ended()
    return !isAtOnce
  }

  /** The turn has taken long enough: the engine gets the firings back that have not started. */
  #giveBack(queue: StartQueue): void {
    for (const firing of queue.waiting.splice(0)) {
      this.#journal.count('postponed')
      firing.postpone()
    }
  }

  /** Starts an attempt. Answers how it blocks the process, if it does. */
  #receive(firing: Firing, handler: Handler): Blocking | undefined {
    const { row } = firing
    if (!firing.start()) {
      this.#journal.count('not started')
      this.#journal.log(handler.member, () => `does not start ${row.identity} r${row.revision}`)
      return undefined
    }
    this.#journal.count('fired')
    this.#journal.log(
      handler.member,
      () =>
        `fires ${row.identity} r${row.revision} occurrence ${row.occurrence} attempt ${firing.attempt}, ${firing.firedAt - row.dueAt} ms late`,
    )
    const attempt = this.#check.start(firing, handler)
    if (attempt === undefined) return undefined
    const random = randomOf(this.#seed, row.identity, row.occurrence, firing.attempt)
    if (firing.attempt > 1 && firing.attempt > this.#handling.mostAttempts) {
      this.#check.checkUsedUp(firing)
      this.#report(firing, attempt, handler, { type: 'dead', reason: 'attempts used up' })
      return undefined
    }
    const finish = (): void => this.#finish(firing, attempt, handler, random)
    const apart = randomOf(this.#seed, row.identity, row.occurrence, firing.attempt, 1)
    const forMs = this.#blockMs(handler, apart)
    if (forMs !== undefined)
      return { forMs, finish, isGivenBack: apart.chance(0.5), isAtOnce: apart.chance(0.5) }
    const takesMs =
      slowMsOf(row.key) ??
      this.#chaos.attemptMs(handler.instance) ??
      this.#longMs(apart) ??
      this.#usualMs(random)
    if (takesMs === 'forever') {
      this.#journal.count('hanging')
      this.#hanging.push({ gate: handler.gate, finish })
    } else if (takesMs === 0) finish()
    else handler.clock.wakeAfter(takesMs, finish)
    return undefined
  }

  #finish(firing: Firing, attempt: Attempt, handler: Handler, random: Random): void {
    this.#report(firing, attempt, handler, this.#outcome(firing, handler, random))
    // The engine must ignore a second report.
    if (random.chance(0.05)) firing.report({ type: 'dead', reason: 'a second report' })
  }

  #report(firing: Firing, attempt: Attempt, handler: Handler, outcome: Outcome): void {
    attempt.outcome = outcome
    this.#journal.count(outcome.type)
    this.#journal.log(handler.member, () => `reports ${firing.row.identity} ${outcome.type}`)
    firing.report(outcome)
  }

  #blockMs({ instance }: Handler, random: Random): number | undefined {
    const struck = this.#chaos.blockMs(instance)
    const { blocks, blockMs } = this.#handling
    const isUsual = random.chance(blocks)
    const usualMs = random.scaled(5, Math.max(5, blockMs))
    return struck ?? (isUsual && !this.#chaos.isCalm ? usualMs : undefined)
  }

  #longMs(random: Random): number | undefined {
    const { long, longMs } = this.#handling
    const isLong = random.chance(long)
    const takesMs = random.scaled(500, Math.max(500, longMs))
    return isLong && !this.#chaos.isCalm ? takesMs : undefined
  }

  #usualMs(random: Random): number {
    if (!random.chance(this.#handling.takesTime)) return 0
    return random.scaled(1, this.#handling.maxMs)
  }

  #outcome({ row, attempt }: Firing, handler: Handler, random: Random): Outcome {
    const { retry, next, dead, mostAttempts } = this.#handling
    const now = handler.plannedNow()
    const drawn = random.fraction()
    if (attempt < mostAttempts && drawn < retry) {
      return { type: 'retry', dueAt: now + random.whole(-100, 2500), reason: 'simulated' }
    }
    if (row.occurrence < MAX_OCCURRENCES && drawn > 1 - next) {
      return { type: 'next', dueAt: now + random.whole(0, 4000) }
    }
    if (drawn <= 0.5 || drawn >= 0.5 + dead) return { type: 'done' }
    const goesOn = row.occurrence < MAX_OCCURRENCES && random.chance(0.5)
    return {
      type: 'dead',
      reason: 'simulated',
      ...(goesOn && { next: { dueAt: now + random.whole(0, 4000) } }),
    }
  }
}

/** An attempt that keeps its process busy. */
interface Blocking {
  readonly forMs: number
  readonly finish: () => void
  /** Whether the firings behind it are given back afterwards. */
  readonly isGivenBack: boolean
  /** Whether it ends in this turn, with the process ahead of true time, or in a later turn of its own. */
  readonly isAtOnce: boolean
}

function slowMsOf(key: string): number | undefined {
  return key.startsWith(SLOW_KEY) ? Number(key.split('-')[1]) : undefined
}
