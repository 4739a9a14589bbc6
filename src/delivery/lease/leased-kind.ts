import type { WaitingWorker } from './waiting-worker.js'

/** A kind that workers lease, and the workers that wait for it. The one that has waited longest is first. */
export class LeasedKind {
  readonly name: string
  /** How many firings of this kind workers hold now. */
  leased = 0
  readonly #workers = new Set<WaitingWorker>()
  #scouts = new Set<() => void>()
  #wanted = 0

  constructor(name: string) {
    this.name = name
  }

  /** How many attempts may run: the firings that workers have, and those that they wait for. A scout counts as one. */
  get demand(): number {
    return this.leased + Math.max(this.#wanted, this.#scouts.size > 0 ? 1 : 0)
  }

  /** The worker that has waited longest. */
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

  /** A waiting worker got a firing, of this kind or another. */
  got(worker: WaitingWorker): void {
    if (!this.#workers.has(worker)) return
    this.#wanted--
    if (worker.wants === 0) this.#workers.delete(worker)
  }

  addScout(onDue: () => void): void {
    this.#scouts.add(onDue)
  }

  removeScout(onDue: () => void): boolean {
    return this.#scouts.delete(onDue)
  }

  /** The scouts, which leave with this call. */
  takeScouts(): Iterable<() => void> {
    const scouts = this.#scouts
    this.#scouts = new Set()
    return scouts
  }

  leave(worker: WaitingWorker): void {
    if (this.#workers.delete(worker)) this.#wanted -= worker.wants
  }
}
