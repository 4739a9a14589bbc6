import { checkNamespace } from '../timer/index.js'

/** Timers of other namespaces that were asked for by way of these: each opened once, started with them. */
export class InnerTimers<Inner extends { start(): Promise<void>; stop(): Promise<void> }> {
  readonly #open: (namespace: string) => Promise<Inner>
  readonly #byNamespace = new Map<string, Promise<Inner>>()
  #isStarted = false

  constructor(open: (namespace: string) => Promise<Inner>) {
    this.#open = open
  }

  /** Those of a namespace. One that could not be opened is tried again when it is asked for again. */
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

  /** Starts them, and those that are opened later. */
  async start(): Promise<void> {
    this.#isStarted = true
    for (const inner of this.#byNamespace.values()) await (await inner).start()
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#byNamespace.values()].map(async (inner) => await (await inner).stop()))
  }

  async #opened(namespace: string): Promise<Inner> {
    const inner = await this.#open(namespace)
    if (this.#isStarted) await inner.start()
    return inner
  }
}
