import { type ErrorCode, StoreError } from '../../../error/index.js'
import type { Carriage, Store, StoreCall } from '../../../store/index.js'
import type { Clock, Wake } from '../../../time/index.js'
import type { Chaos, Fate } from '../plan/chaos.js'
import { MAX_LATE_MS } from '../plan/fault.js'
import type { Gate } from './gate.js'
import type { Random } from '../../random.js'

/** Watches one call to the store. */
interface CallObserver {
  /** Runs `commit` when the call reaches the store, and records what it did. */
  commit<Answer>(commit: () => Answer): Answer
  /** The process is about to get the answer, or this error. */
  answered(error: unknown): void
}

export type ObserveCall = (name: keyof Store, args: readonly unknown[]) => CallObserver

/**
 * Carries the calls of one process to the store and the answers back. Every call takes time. `Chaos` decides whether it
 * arrives, when it commits and what the caller gets. Answers pass the gate of the process. A call that was sent happens
 * even if its process is gone.
 *
 * Proven by test/testing/simulation/faulty-carriage.test.ts.
 */
export class FaultyCarriage implements Carriage {
  /** The arguments of the next call, because `carry` gets only its name. */
  args: readonly unknown[] = []
  readonly #clock: Clock
  readonly #gate: Gate
  readonly #chaos: Chaos
  readonly #random: Random
  readonly #instance: number
  readonly #observe: ObserveCall
  readonly #flights = new Set<Flight>()

  constructor(
    parts: {
      readonly clock: Clock
      readonly gate: Gate
      readonly chaos: Chaos
      readonly observe: ObserveCall
    },
    instance: number,
    random: Random,
  ) {
    this.#clock = parts.clock
    this.#gate = parts.gate
    this.#chaos = parts.chaos
    this.#observe = parts.observe
    this.#instance = instance
    this.#random = random
  }

  carry<Answer>(call: StoreCall, commit: () => Answer): Promise<Answer> {
    const observer = this.#observe(call.name, this.args)
    const fate = delayed(
      this.#chaos.fateOf(this.#instance, call.name, this.#random),
      // A busy process sends the call only when its own time has come.
      this.#gate.aheadMs,
    )
    const answer = new Promise<Answer>((resolve, reject) => {
      const fail = (code: ErrorCode): void => {
        const error = new StoreError(code, `simulated: ${code} at ${call.name}`)
        this.#gate.enter(() => {
          observer.answered(error)
          reject(error)
        })
      }
      this.#sendOff(fate, fail, () => {
        let respond: () => void
        try {
          const value = observer.commit(commit)
          respond = () => {
            observer.answered(undefined)
            resolve(value)
          }
        } catch (error) {
          respond = () => {
            observer.answered(error)
            reject(error instanceof Error ? error : new Error('the store threw', { cause: error }))
          }
        }
        if (fate.error !== undefined) return
        const backMs = fate.answerAfterMs - fate.commitAfterMs!
        if (backMs <= 0) this.#gate.enter(respond)
        else this.#clock.wakeAfter(backMs, () => this.#gate.enter(respond))
      })
      const { error } = fate
      if (error !== undefined) this.#clock.wakeAfter(fate.answerAfterMs, () => fail(error))
    })
    this.#chaos.sent(this.#instance, call.name)
    return answer
  }

  wake(deliver: () => void): void {
    const delayMs = this.#chaos.wakeDelayMs(this.#instance, this.#random)
    if (delayMs !== undefined) this.#clock.wakeAfter(delayMs, () => this.#gate.enter(deliver))
  }

  /** The process is gone. Decides what happens to the calls that it sent and that have not been committed. */
  abandon(sent: 'commits' | 'is-lost' | 'commits-late'): void {
    for (const flight of this.#flights) {
      if (sent === 'commits') continue
      flight.wake.cancel()
      if (sent === 'is-lost') this.#flights.delete(flight)
      else flight.wake = this.#clock.wakeAfter(this.#random.scaled(10, MAX_LATE_MS), flight.land)
    }
  }

  /** The store loses power: calls on their way never arrive, and their callers get 'unknown-outcome'. */
  losePower(): void {
    for (const flight of this.#flights) {
      flight.wake.cancel()
      this.#flights.delete(flight)
      flight.fail()
    }
  }

  #sendOff(fate: Fate, fail: (code: ErrorCode) => void, commit: () => void): void {
    if (fate.commitAfterMs === undefined) return
    const land = (): void => {
      this.#flights.delete(flight)
      commit()
    }
    const flight: Flight = {
      land,
      // A caller that will get another error gets only that one.
      fail: () => (fate.error === undefined ? fail('unknown-outcome') : undefined),
      wake: this.#clock.wakeAfter(fate.commitAfterMs, land),
    }
    this.#flights.add(flight)
  }
}

/** A call on its way to the store. */
interface Flight {
  readonly land: () => void
  /** Called when it will never arrive. */
  readonly fail: () => void
  wake: Wake
}

function delayed(fate: Fate, byMs: number): Fate {
  if (byMs === 0) return fate
  const { commitAfterMs, answerAfterMs, error } = fate
  return {
    commitAfterMs: commitAfterMs === undefined ? undefined : commitAfterMs + byMs,
    answerAfterMs: answerAfterMs + byMs,
    error,
  }
}
