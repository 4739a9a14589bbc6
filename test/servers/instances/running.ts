/** An attempt that has come to a receiver or a worker and has not been answered. */
interface RunningAttempt {
  readonly attempt: number
  readonly by: string
  readonly from: number
}

/** A second attempt that came while another was under way in a process of which nothing bad was known then. */
export interface Overlap {
  readonly key: string
  readonly attempt: number
  readonly by: string
  readonly beside: RunningAttempt
  readonly at: number
}

/** How long after another has taken it a starved process may notice, and say, that it has lost a shard. */
const NOTICE_MS = 20_000
/** The name of a process that could not be told: nothing is known of it, so nothing is said about it. */
export const UNKNOWN = 'unknown'

/**
 * Which attempts are under way, and when processes were killed, stopped, cut off, ended or lost a shard. An attempt
 * that comes while another is under way in a process that was well breaks a promise. Whether it was well is known
 * only at the end: a starved process says late that it has lost a shard.
 */
export class Running {
  readonly #attempts = new Map<string, RunningAttempt[]>()
  readonly #troubles = new Map<string, number[]>()
  readonly #overlaps: Overlap[] = []

  /** Something happens to a process, or goes on happening: its leases may be over. */
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

  /** At the end: the attempts that began beside one in a process that was well. */
  get overlaps(): readonly Overlap[] {
    return this.#overlaps.filter(({ beside, at }) => {
      const troubles = this.#troubles.get(beside.by) ?? []
      return !troubles.some((time) => time >= beside.from && time <= at + NOTICE_MS)
    })
  }
}
