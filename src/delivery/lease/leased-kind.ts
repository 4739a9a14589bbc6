import type { WaitingWorker } from './waiting-worker.js'

/** A kind that workers take, and who waits for it, longest first. */
export class LeasedKind {
  readonly name: string
  /** What workers have. */
  leased = 0
  readonly #workers = new Set<WaitingWorker>()
  #wanted = 0

  constructor(name: string) {
    this.name = name
  }

  /** As many as may be under way: those that workers have, and those they wait for. */
  get demand(): number {
    return this.leased + this.#wanted
  }

  /** Who has waited longest. */
  get first(): WaitingWorker | undefined {
    const [first] = this.#workers
    return first
  }

  get workers(): Iterable<WaitingWorker> {
    return this.#workers
  }

  join(worker: WaitingWorker): void {
    this.#workers.add(worker)
    this.#wanted += worker.wants
  }

  /** One who waits has got a firing, of this kind or another. */
  got(worker: WaitingWorker): void {
    if (!this.#workers.has(worker)) return
    this.#wanted--
    if (worker.wants === 0) this.#workers.delete(worker)
  }

  leave(worker: WaitingWorker): void {
    if (this.#workers.delete(worker)) this.#wanted -= worker.wants
  }
}
