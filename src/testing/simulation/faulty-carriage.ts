import { StoreError } from '../../error/index.js'
import type { Carriage, Store, StoreCall } from '../../store/index.js'
import type { Clock, Wake } from '../../time/index.js'
import type { Chaos, Fate } from './chaos.js'
import { LONGEST_LATE_MS } from './fault.js'
import type { Gate } from './gate.js'
import type { Random } from '../random.js'

/** Who looks on as one call travels. */
interface Onlooker {
  /** Carries out `commit` at its instant and notes what it did. */
  commit<Answer>(commit: () => Answer): Answer
  /** The process is about to hear how it ended. */
  heard(error: unknown): void
}

export type LookOn = (name: keyof Store, args: readonly unknown[]) => Onlooker

/**
 * The way of one process's calls to the store and back. Every call takes time; chaos decides whether it
 * arrives, when it happens and what its sender hears. Answers come through the process's gate, what was sent
 * happens whatever became of the process.
 */
export class FaultyCarriage implements Carriage {
  /** The arguments of the call that is about to be carried. */
  args: readonly unknown[] = []
  readonly #clock: Clock
  readonly #gate: Gate
  readonly #chaos: Chaos
  readonly #random: Random
  readonly #instance: number
  readonly #lookOn: LookOn
  readonly #flying = new Set<Flight>()

  constructor(
    parts: { readonly clock: Clock; readonly gate: Gate; readonly chaos: Chaos; readonly lookOn: LookOn },
    instance: number,
    random: Random,
  ) {
    this.#clock = parts.clock
    this.#gate = parts.gate
    this.#chaos = parts.chaos
    this.#lookOn = parts.lookOn
    this.#instance = instance
    this.#random = random
  }

  carry<Answer>(call: StoreCall, commit: () => Answer): Promise<Answer> {
    const onlooker = this.#lookOn(call.name, this.args)
    const fate = this.#chaos.fateOf(this.#instance, call.name, this.#random)
    const answer = new Promise<Answer>((resolve, reject) => {
      this.#fly(fate, () => {
        let say: () => void
        try {
          const told = onlooker.commit(commit)
          say = () => {
            onlooker.heard(undefined)
            resolve(told)
          }
        } catch (error) {
          say = () => {
            onlooker.heard(error)
            reject(error instanceof Error ? error : new Error('the store threw', { cause: error }))
          }
        }
        if (fate.error !== undefined) return
        const backMs = fate.answerAfterMs - fate.commitAfterMs!
        if (backMs <= 0) this.#gate.enter(say)
        else this.#clock.wakeAfter(backMs, () => this.#gate.enter(say))
      })
      if (fate.error !== undefined) {
        const error = new StoreError(fate.error, `simulated: ${fate.error} at ${call.name}`)
        const say = (): void => {
          onlooker.heard(error)
          reject(error)
        }
        this.#clock.wakeAfter(fate.answerAfterMs, () => this.#gate.enter(say))
      }
    })
    this.#chaos.sent(this.#instance, call.name)
    return answer
  }

  wake(deliver: () => void): void {
    const delayMs = this.#chaos.wakeDelayMs(this.#instance, this.#random)
    if (delayMs !== undefined) this.#clock.wakeAfter(delayMs, () => this.#gate.enter(deliver))
  }

  /** The process is gone: what it had sent and what has not happened yet fares like this. */
  abandon(sent: 'commits' | 'is-lost' | 'commits-late'): void {
    for (const flight of this.#flying) {
      if (sent === 'commits') continue
      flight.wake.cancel()
      if (sent === 'is-lost') this.#flying.delete(flight)
      else flight.wake = this.#clock.wakeAfter(this.#random.scaled(10, LONGEST_LATE_MS), flight.land)
    }
  }

  #fly(fate: Fate, commit: () => void): void {
    if (fate.commitAfterMs === undefined) return
    const land = (): void => {
      this.#flying.delete(flight)
      commit()
    }
    const flight: Flight = { land, wake: this.#clock.wakeAfter(fate.commitAfterMs, land) }
    this.#flying.add(flight)
  }
}

/** A call on its way to the store. */
interface Flight {
  readonly land: () => void
  wake: Wake
}
