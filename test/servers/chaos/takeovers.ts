import type { Line } from './report.js'

/** A shard that lost its owner, and which owner that was. */
interface Orphan {
  readonly since: number
  readonly owner: string
}

/** Measures how long shards had no owner after a loss. */
export class Takeovers {
  /** By the fault that took the owner away. */
  readonly msByFault = new Map<string, number[]>()
  readonly #acquired = new Map<number, { by: string; at: number }[]>()
  readonly #orphans: (Orphan & { readonly shard: number; readonly fault: string })[] = []

  take(by: string, line: Line): void {
    if (line.say !== 'acquired') return
    const all = this.#acquired.get(line.shard) ?? []
    this.#acquired.set(line.shard, all)
    all.push({ by, at: line.at })
  }

  lost(fault: string, owner: string, shards: readonly number[], since: number): void {
    for (const shard of shards) this.#orphans.push({ shard, fault, owner, since })
  }

  /** Whether another instance has owned the shard since then. */
  isTaken(owner: string, shard: number, since: number): boolean {
    return this.#takenAt(owner, shard, since) < Infinity
  }

  /**
   * When another instance took it, after the owner had acquired it. The owner may have released it shortly before it
   * was lost.
   */
  #takenAt(owner: string, shard: number, since: number): number {
    const all = this.#acquired.get(shard) ?? []
    const own = all.filter(({ by, at }) => by === owner && at <= since).map(({ at }) => at)
    const from = own.length > 0 ? Math.max(...own) : since
    return all
      .filter(({ by, at }) => at > from && by !== owner)
      .reduce((least, { at }) => Math.min(least, at), Infinity)
  }

  /**
   * Checks every shard that lost its owner, and returns those that no other instance has taken. After a kill that is
   * a fault. An owner that came back may still have its shard, or may have acquired it again.
   */
  look(): readonly (Orphan & { readonly shard: number; readonly fault: string })[] {
    for (const orphan of this.#orphans.splice(0)) {
      const { shard, fault, owner, since } = orphan
      const next = this.#takenAt(owner, shard, since)
      if (next === Infinity) {
        this.#orphans.push(orphan)
        continue
      }
      const found = this.msByFault.get(fault) ?? []
      this.msByFault.set(fault, found)
      found.push(Math.max(0, next - since))
    }
    return [...this.#orphans]
  }
}
