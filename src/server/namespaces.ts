import { LimitError } from '../error/index.js'
import type { Timers } from '../front/index.js'
import type { Store } from '../store/index.js'
import type { Clock, Wake } from '../time/index.js'
import { MAX_OPEN_NAMESPACES } from './defaults.js'

// `src/front` stores each kind under `kind/<namespace, percent-encoded>/<kind>`.
const KINDS = 'kind/'

export interface NamespacesParts {
  readonly timers: Timers
  readonly store: Store
  readonly clock: Clock
  /** How often to read the store for namespaces that another instance has begun. */
  readonly refreshMs: number
  readonly onError: (error: unknown) => void
}

/**
 * The timers of each namespace. Namespaces with kinds in the store are opened at the start, so that their timers fire.
 * Others are opened by their first request.
 */
export class Namespaces {
  readonly #parts: NamespacesParts
  readonly #open = new Map<string, Timers>()
  readonly #opening = new Map<string, Promise<Timers>>()
  #wake: Wake | undefined
  #isStopped = false

  constructor(parts: NamespacesParts) {
    this.#parts = parts
  }

  /** Opens all namespaces of the store, and from now on those that other instances begin. */
  async start(): Promise<void> {
    await this.timersOf('default')
    await this.#openStored()
    this.#scheduleRefresh()
  }

  stop(): void {
    this.#isStopped = true
    this.#wake?.cancel()
  }

  /** The timers of a namespace if it is open. */
  openTimersOf(namespace: string): Timers | undefined {
    return this.#open.get(namespace)
  }

  /** The timers of a namespace. Opens it if needed; synchronous if it is open. */
  timersOf(namespace: string): Timers | Promise<Timers> {
    const open = this.#open.get(namespace)
    if (open !== undefined) return open
    let opening = this.#opening.get(namespace)
    if (opening === undefined) {
      // Even an empty namespace takes memory.
      if (this.#open.size + this.#opening.size >= MAX_OPEN_NAMESPACES)
        throw new LimitError('too-many-namespaces', `${MAX_OPEN_NAMESPACES} namespaces are already open`)
      opening = this.#openNamespace(namespace).finally(() => this.#opening.delete(namespace))
      this.#opening.set(namespace, opening)
    }
    return opening
  }

  async #openNamespace(namespace: string): Promise<Timers> {
    const timers = await this.#parts.timers.within(namespace)
    this.#open.set(namespace, timers)
    return timers
  }

  async #openStored(): Promise<void> {
    for (const { name } of await this.#parts.store.settings(KINDS)) {
      await this.timersOf(decodeURIComponent(name.slice(KINDS.length, name.indexOf('/', KINDS.length))))
    }
  }

  #scheduleRefresh(): void {
    const { clock, refreshMs, onError } = this.#parts
    const refresh = async (): Promise<void> => {
      try {
        await this.#openStored()
      } catch (error) {
        onError(error)
      }
      if (!this.#isStopped) this.#scheduleRefresh()
    }
    this.#wake = clock.wakeAfter(refreshMs, () => void refresh(), { keepAlive: false })
  }
}
