import type { TimerEngine } from '../../engine/index.js'
import type { Store } from '../../store/index.js'
import { shardOf, type TimerName, type TimerView } from '../../timer/index.js'
import { OVERDUE_MS } from '../defaults.js'
import {
  type Cause,
  type CauseCode,
  instanceCauses,
  kindCauses,
  type KindFacts,
  shardCauses,
  type ShardState,
  unreadableCauses,
} from './causes.js'

/** How many kinds a diagnosis looks at, at most. */
const MAX_KINDS = 1000

/**
 * Finds why due timers do not fire: the only place that derives causes. `why`, `get`, `list`, `/v1/diagnosis`,
 * `carillon doctor` and readiness show what it finds.
 *
 * Proven by test/front/diagnosis.test.ts and test/server/diagnosis.test.ts.
 */
export class Diagnosis {
  readonly #engine: TimerEngine
  readonly #store: Store
  readonly #namespace: string
  readonly #factsOf: (kind: string) => KindFacts

  constructor(parts: {
    engine: TimerEngine
    store: Store
    namespace: string
    factsOf: (kind: string) => KindFacts
  }) {
    this.#namespace = parts.namespace
    this.#engine = parts.engine
    this.#store = parts.store
    this.#factsOf = parts.factsOf
  }

  /** Why this timer would not fire if it were due. */
  async ofTimer(name: TimerName): Promise<readonly Cause[]> {
    const shard = shardOf(name, this.#store.shardCount)
    return [...(await this.#ofShards([shard])), ...kindCauses(this.#factsOf(name.kind))]
  }

  /** Adds to overdue timers why they wait. */
  async withCauses(views: readonly TimerView[]): Promise<readonly TimerView[]> {
    const overdueSince = this.#engine.clock.now() - OVERDUE_MS
    const isOverdue = ({ state, dueAt }: TimerView): boolean => state === 'waiting' && dueAt < overdueSince
    const overdue = views.filter(isOverdue)
    if (overdue.length === 0) return views
    const found = (await this.#codesOf(overdue)).values()
    return views.map((view) => (isOverdue(view) ? { ...view, causes: found.next().value! } : view))
  }

  /** The codes of what keeps each of these timers from firing. The store is asked once for all of them. */
  async #codesOf(names: readonly TimerName[]): Promise<readonly (readonly CauseCode[])[]> {
    const state = await this.#shardState()
    const byKind = new Map<string, readonly CauseCode[]>()
    return names.map((name) => {
      const codes = byKind.get(name.kind) ?? codesIn(kindCauses(this.#factsOf(name.kind)))
      byKind.set(name.kind, codes)
      return [...codesIn(causesOf(state, [shardOf(name, this.#store.shardCount)])), ...codes]
    })
  }

  /** Why timers of these kinds do not fire if any is due. A kind without due timers is left out. */
  async ofKinds(kinds: readonly string[]): Promise<readonly Cause[]> {
    const namespace = this.#namespace
    const stats = this.#engine.stats()
    const causes = [
      ...instanceCauses(stats, this.#engine.settings),
      ...unreadableCauses(stats.counts.unreadable),
    ]
    const isKnown = new Set(causes.map(({ code }) => code))
    for (const cause of await this.#ofShards()) if (!isKnown.has(cause.code)) causes.push(cause)
    const untilExclusive = Math.floor(this.#engine.clock.now())
    const seen = new Set<string>()
    for (const kind of kinds.slice(0, MAX_KINDS)) {
      const found = kindCauses(this.#factsOf(kind)).filter(({ text }) => !seen.has(text))
      if (found.length === 0) continue
      const slice = { namespace, kind, fromInclusive: 0, untilExclusive, sliceMs: untilExclusive }
      const [due = 0] = await this.#store.histogram(slice)
      if (due === 0) continue
      for (const cause of found) {
        seen.add(cause.text)
        const text = cause.code === 'all-paused' ? cause.text : `${cause.text}: ${due} due timers wait`
        causes.push({ ...cause, text })
      }
    }
    return causes
  }

  /** Of all shards, or only of some. */
  async #ofShards(only?: readonly number[]): Promise<readonly Cause[]> {
    return causesOf(await this.#shardState(), only)
  }

  async #shardState(): Promise<ShardState> {
    if (this.#store.mode === 'claim') return { shardCount: 0, unowned: [], waiting: [] }
    const [rows, now, waiting] = await Promise.all([
      this.#store.shards(),
      this.#store.now(),
      this.#store.busyInboxes(),
    ])
    const unowned = rows
      .filter(({ owner, leaseUntil }) => owner === '' || leaseUntil <= now)
      .map(({ shard }) => shard)
    return { shardCount: rows.length, unowned, waiting }
  }
}

/** The causes of all shards, or only of some. With the strategy claim there are no shards to own. */
function causesOf({ shardCount, unowned, waiting }: ShardState, only?: readonly number[]): readonly Cause[] {
  if (shardCount === 0) return []
  const isMeant = (shard: number): boolean => only === undefined || only.includes(shard)
  const isNoneOwned = unowned.length === shardCount
  return shardCauses({
    shardCount,
    unowned: isNoneOwned ? unowned : unowned.filter(isMeant),
    waiting: waiting.filter(isMeant),
  })
}

function codesIn(causes: readonly Cause[]): readonly CauseCode[] {
  return causes.map(({ code }) => code)
}
