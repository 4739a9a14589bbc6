import { checkFunction } from '../../error/index.js'
import type { TimersEvent } from './timers-event.js'

type Listener = (event: TimersEvent) => void

/** The listeners to events of timers. A listener that throws affects neither the other listeners nor the timers. */
export class Listeners {
  readonly #listeners: Set<Listener>

  constructor(first: Listener) {
    this.#listeners = new Set([first])
  }

  /** Adds a listener. Call the returned function to remove it. */
  add(listener: Listener): () => void {
    checkFunction('onEvent', listener)
    // A new function for each call, so that a listener which was added twice can be removed once.
    const each: Listener = (event) => listener(event)
    this.#listeners.add(each)
    return () => {
      this.#listeners.delete(each)
    }
  }

  readonly emit = (event: TimersEvent): void => {
    for (const listener of this.#listeners) {
      try {
        listener(event)
      } catch {
        // Errors in listeners are ignored, as documented.
      }
    }
  }

  /** Reports a failed call to the store that will be retried. */
  readonly emitStoreError = (call: string, thrown: unknown): void => {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown))
    this.emit({ type: 'store-trouble', shard: undefined, call, error })
  }
}
