/** An attempt that a receiver or a worker got and has not answered yet. */
interface RunningAttempt {
  readonly attempt: number
  readonly by: string
  readonly from: number
}

/** An attempt that began while another was under way in a process without known trouble. */
export interface Overlap {
  readonly key: string
  readonly attempt: number
  readonly by: string
  readonly beside: RunningAttempt
  readonly at: number
}

/** A starved process may notice and report this long after a takeover that it lost a shard. */
const NOTICE_MS = 20_000
/** Stands for a process that could not be identified. Nothing is checked about it. */
export const UNKNOWN = 'unknown'

/**
 * Records which attempts are under way, and when processes were killed, paused, cut off, ended or lost a shard. Two
 * attempts at once break a promise, unless the process of the first was in trouble. That is known only at the end: a
 * starved process reports late that it has lost a shard.
 */
export class Running {
  readonly #attempts = new Map<string, RunningAttempt[]>()
  readonly #troubles = new Map<string, number[]>()
  readonly #overlaps: Overlap[] = []

  /** Something happens to a process or continues to happen, so its leases may have ended. */
  troubled(by: string, at = Date.now()): void {
    const all = this.#troubles.get(by) ?? []
    all.push(at)
    this.#troubles.set(by, all)
  }

  begins(key: string, attempt: number, by: string, at = Date.now()): void {
    const all = this.#attempts.get(key) ?? []
    this.#attempts.set(key, all)
    for (const beside of all) if (beside.by !== UNKNOWN) this.#overlaps.push({ key, attempt, by, beside, at })
    all.push({ attempt, by, from: at })
  }

  ends(key: string, attempt: number, by: string): void {
    const all = this.#attempts.get(key) ?? []
    const left = all.filter((other) => other.attempt !== attempt || other.by !== by)
    if (left.length === 0) this.#attempts.delete(key)
    else this.#attempts.set(key, left)
  }

  /** At the end: the attempts that began while another ran in a process without trouble. */
  get overlaps(): readonly Overlap[] {
    return this.#overlaps.filter(({ beside, at }) => {
      const troubles = this.#troubles.get(beside.by) ?? []
      return !troubles.some((time) => time >= beside.from && time <= at + NOTICE_MS)
    })
  }
}
