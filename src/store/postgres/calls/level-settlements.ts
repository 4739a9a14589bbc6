import type { Fence, SettleAnswer, Settlement } from '../../store.js'
import { arrayOf, sentArrays } from '../codec/answer-row.js'
import { int8Array, int8Values } from '../codec/binary-array.js'
import { fenceColumns, placeholders } from '../codec/parameters.js'
import { MAX_SHARDS_TOGETHER } from '../defaults.js'
import type { Database } from '../net/database.js'
import { CallCoalescer, firstOfEachShard } from './call-coalescer.js'

interface LevelCall {
  readonly fence: Fence
  readonly settlement: Settlement
}

const SETTLE_LEVELS = `select ${sentArrays(['settled', 'read_positions', 'read_revisions'])}
  from S.settle_levels(${placeholders(10)})`

/**
 * Settlements that only raise the settled level, stored for many shards by one statement. A shard whose fence or level
 * does not match is skipped. Its caller must then settle it alone, which reports the reason.
 *
 * Proven by test/store/postgres/shared-statements.test.ts.
 */
export class LevelSettlements {
  readonly #database: Database
  readonly #now: () => number | null
  readonly #calls: CallCoalescer<LevelCall, SettleAnswer | undefined>

  constructor(database: Database, now: () => number | null) {
    this.#database = database
    this.#now = now
    this.#calls = new CallCoalescer({
      send: (calls) => this.#send(calls),
      // While one is flushed to disk, the next ones gather.
      maxInFlight: 1,
      weightOf: () => 1,
      maxWeight: MAX_SHARDS_TOGETHER,
    })
  }

  /** Undefined if the shard was skipped. */
  settle(fence: Fence, settlement: Settlement): Promise<SettleAnswer | undefined> {
    return this.#calls.call({ fence, settlement })
  }

  async #send(calls: readonly LevelCall[]): Promise<readonly (SettleAnswer | undefined)[]> {
    const groups = firstOfEachShard(calls)
    const [row] = await this.#database.write('settle', SETTLE_LEVELS, [
      this.#now(),
      ...fenceColumns(groups.map(({ fence }) => fence)),
      int8Array(groups, ({ settlement }) => settlement.id),
      int8Array(groups, ({ settlement }) => settlement.level.position),
      int8Array(groups, ({ settlement }) => settlement.level.revision),
      int8Array(groups, ({ settlement }) => settlement.settledCount),
    ])
    const positions = int8Values(arrayOf(row!, 'read_positions'))
    const revisions = int8Values(arrayOf(row!, 'read_revisions'))
    const answers = new Map<LevelCall, SettleAnswer>()
    for (const [i, number] of int8Values(arrayOf(row!, 'settled')).entries()) {
      const readLevel = { position: positions[i]!, revision: revisions[i]! }
      answers.set(groups[number - 1]!, { followUps: [], dead: [], readLevel })
    }
    return calls.map((call) => answers.get(call))
  }
}

/** Whether a settlement only raises the level. */
export function isLevelOnly({ done, dead, followUps, history }: Settlement): boolean {
  return done.length === 0 && dead.length === 0 && followUps.length === 0 && history.length === 0
}
