import { checkFunction } from '../error/index.js'
import type { TimersEvent } from './timers-event.js'

type Listener = (event: TimersEvent) => void

/** Whoever wants to hear what timers do. Whatever befalls a listener, the others hear it, and timers fire. */
export class Listeners {
  readonly #listeners: Set<Listener>

  constructor(first: Listener) {
    this.#listeners = new Set([first])
  }

  /** Listens until the answer is called. */
  add(listener: Listener): () => void {
    checkFunction('onEvent', listener)
    // One of its own for each call, so that whoever listens twice can end each.
    const each: Listener = (event) => listener(event)
    this.#listeners.add(each)
    return () => {
      this.#listeners.delete(each)
    }
  }

  tell(event: TimersEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event)
      } catch {
        // Its own trouble.
      }
    }
  }

  /** A call to the store failed that is tried again by itself. */
  trouble(call: string, error: unknown): void {
    const trouble = error instanceof Error ? error : new Error(String(error))
    this.tell({ type: 'store-trouble', shard: undefined, call, error: trouble })
  }
}
