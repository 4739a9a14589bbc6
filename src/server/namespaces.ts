import { LimitError } from '../error/index.js'
import type { Timers } from '../front/index.js'
import type { Store } from '../store/index.js'
import type { Clock, Wake } from '../time/index.js'

// As the front door writes them: the name of a namespace is encoded there.
const KINDS = 'kind/'
const MOST_OPEN = 2000

export interface NamespacesParts {
  readonly timers: Timers
  readonly store: Store
  readonly clock: Clock
  /** How often to look whether another instance has begun a namespace. */
  readonly lookMs: number
  readonly onTrouble: (error: unknown) => void
}

/**
 * The timers of each namespace. Those that hold anything are open from the start, so that it fires; others are opened
 * when they are first asked for.
 */
export class Namespaces {
  readonly #parts: NamespacesParts
  readonly #open = new Map<string, Timers>()
  readonly #opening = new Map<string, Promise<Timers>>()
  #wake: Wake | undefined
  #isOver = false

  constructor(parts: NamespacesParts) {
    this.#parts = parts
  }

  /** Opens all that there are, and from now on those that others begin. */
  async start(): Promise<void> {
    await this.of('default')
    await this.#look()
    this.#lookLater()
  }

  stop(): void {
    this.#isOver = true
    this.#wake?.cancel()
  }

  /** Those of a namespace if they are open. */
  opened(namespace: string): Timers | undefined {
    return this.#open.get(namespace)
  }

  /** At once where they are open. */
  of(namespace: string): Timers | Promise<Timers> {
    const open = this.#open.get(namespace)
    if (open !== undefined) return open
    let opening = this.#opening.get(namespace)
    if (opening === undefined) {
      // Each takes its memory, whether anything is in it or not.
      if (this.#open.size + this.#opening.size >= MOST_OPEN)
        throw new LimitError('too-many-namespaces', `${MOST_OPEN} namespaces are open already`)
      opening = this.#begin(namespace).finally(() => this.#opening.delete(namespace))
      this.#opening.set(namespace, opening)
    }
    return opening
  }

  async #begin(namespace: string): Promise<Timers> {
    const timers = await this.#parts.timers.within(namespace)
    this.#open.set(namespace, timers)
    return timers
  }

  async #look(): Promise<void> {
    for (const { name } of await this.#parts.store.settings(KINDS)) {
      await this.of(decodeURIComponent(name.slice(KINDS.length, name.indexOf('/', KINDS.length))))
    }
  }

  #lookLater(): void {
    const { clock, lookMs, onTrouble } = this.#parts
    const look = async (): Promise<void> => {
      try {
        await this.#look()
      } catch (error) {
        onTrouble(error)
      }
      if (!this.#isOver) this.#lookLater()
    }
    this.#wake = clock.wakeAfter(lookMs, () => void look(), { keepAlive: false })
  }
}
