import type { ShardRow } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import type { EngineSettings } from '../settings.js'
import { MAX_EXCLUSION_FACTOR, MIN_EXCLUSION_FACTOR } from '../defaults.js'

/**
 * Members that get no shards for a while, though they send heartbeats.
 *
 * A member that let a lease run out is excluded until its heartbeat would be forgotten. If it is alive after all, it gets
 * shards again then.
 *
 * A member that did not take a shard assigned to it, so that another took it, is excluded for longer, and for twice as
 * long each time. Otherwise the member that took the shard would release it when it next reads the shards, and nothing of
 * it would fire until it is taken once more. The exclusion ends at once when the member is seen to take a shard, or comes
 * back as another process.
 *
 * Proven by test/engine/ownership.test.ts and test/engine/simulation.test.ts.
 */
export class ExcludedMembers {
  readonly #clock: Clock
  readonly #rememberedMs: number
  readonly #lapsedUntil = new Map<string, number>()
  readonly #passedOver = new Map<string, PassedOver>()
  #owners: ReadonlyMap<number, string> = new Map()

  /** `clock` is this machine's own. */
  constructor(clock: Clock, { leaseMs, heartbeatMs }: EngineSettings) {
    this.#clock = clock
    this.#rememberedMs = leaseMs + heartbeatMs
  }

  has(id: string): boolean {
    const until = Math.max(
      this.#lapsedUntil.get(id) ?? -Infinity,
      this.#passedOver.get(id)?.until ?? -Infinity,
    )
    return until > this.#clock.monotonic()
  }

  /** A member let a lease run out. */
  lapsed(id: string): void {
    this.#lapsedUntil.set(id, this.#clock.monotonic() + this.#rememberedMs)
  }

  /** A member did not take a shard assigned to it. `life` names its process. */
  passOver(id: string, life: string): void {
    const now = this.#clock.monotonic()
    const before = this.#passedOver.get(id)
    // Several shards that it did not take count once.
    if (before !== undefined && before.until > now) return
    const times =
      before?.life === life ? Math.min(before.times * 2, MAX_EXCLUSION_FACTOR) : MIN_EXCLUSION_FACTOR
    this.#passedOver.set(id, { until: now + times * this.#rememberedMs, times, life })
  }

  /** To be called each time the shards are read. `lifeOf` names the process of a member. */
  saw(rows: readonly ShardRow[], lifeOf: (id: string) => string | undefined): void {
    for (const { shard, owner } of rows) {
      const before = this.#owners.get(shard)
      if (before !== undefined && before !== owner) this.#passedOver.delete(owner)
    }
    this.#owners = new Map(rows.map(({ shard, owner }) => [shard, owner]))
    const now = this.#clock.monotonic()
    for (const [id, { life, until }] of this.#passedOver) {
      const living = lifeOf(id)
      if (living === undefined ? until <= now : living !== life) this.#passedOver.delete(id)
    }
  }
}

interface PassedOver {
  readonly until: number
  /** In units of the time for which a heartbeat is remembered. */
  readonly times: number
  readonly life: string
}
