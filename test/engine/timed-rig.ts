import type { RequestedOperation } from '../../src/store/index.js'
import type { VirtualClock } from '../../src/time/index.js'

type SetRequest = Extract<RequestedOperation, { type: 'set' }>

export const START = Date.UTC(2026, 0, 1, 10)

/** The base of all rigs: a virtual clock, and operations on timers of one kind. Due times are relative to `START`. */
export abstract class TimedRig {
  abstract readonly clock: VirtualClock
  #identity = 1

  /** A set of `key` that is due `inMs` after `START`. */
  set(key: string, inMs: number, rest: Partial<SetRequest> = {}): RequestedOperation {
    return {
      type: 'set',
      namespace: 'n',
      kind: 'k',
      key,
      identity: this.#identity++,
      createdAt: this.clock.now(),
      dueAt: START + inMs,
      payload: new Uint8Array([1]),
      tags: [],
      details: '',
      attempt: 0,
      occurrence: 0,
      ...rest,
    }
  }

  move(key: string, inMs: number): RequestedOperation {
    return { type: 'move', namespace: 'n', kind: 'k', key, dueAt: START + inMs }
  }

  cancel(key: string): RequestedOperation {
    return { type: 'cancel', namespace: 'n', kind: 'k', key }
  }

  /** Advances the clock a little until the promise is settled. */
  async settled<T>(promise: Promise<T>): Promise<T> {
    const state = { isOver: false }
    const watched = promise.finally(() => {
      state.isOver = true
    })
    watched.catch(() => undefined)
    await this.clock.advance(0)
    for (let steps = 0; !state.isOver && steps < 100_000; steps++) await this.clock.advance(1)
    return await watched
  }
}
