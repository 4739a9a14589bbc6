import { checkNamespace } from '../timer/index.js'

/**
 * The timers that `within` opened, one for each namespace. They start and stop with the timers that opened them. Those
 * that were stopped by themselves are forgotten, and opened again when they are needed.
 */
export class NamespaceTimers<Inner extends { start(): Promise<void>; stop(): Promise<void> }> {
  readonly #open: (namespace: string, onLeft: () => void) => Promise<Inner>
  readonly #byNamespace = new Map<string, Promise<Inner>>()
  #isStarted = false

  constructor(open: (namespace: string, onLeft: () => void) => Promise<Inner>) {
    this.#open = open
  }

  /** The timers of a namespace. If opening fails, the next call tries again. */
  async of(namespace: string): Promise<Inner> {
    checkNamespace(namespace)
    let opening = this.#byNamespace.get(namespace)
    if (opening === undefined) {
      opening = this.#opened(namespace)
      this.#byNamespace.set(namespace, opening)
      opening.catch(() => this.#byNamespace.delete(namespace))
    }
    return await opening
  }

  /** Starts all of them. Those that are opened later start at once. */
  async start(): Promise<void> {
    this.#isStarted = true
    for (const inner of this.#byNamespace.values()) await (await inner).start()
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#byNamespace.values()].map(async (inner) => await (await inner).stop()))
  }

  async #opened(namespace: string): Promise<Inner> {
    const inner = await this.#open(namespace, () => this.#byNamespace.delete(namespace))
    if (this.#isStarted) await inner.start()
    return inner
  }
}
