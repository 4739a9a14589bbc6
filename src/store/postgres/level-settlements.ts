import type { Fence, SettleAnswer, Settlement } from '../store.js'
import { listOf, sent } from './answer-row.js'
import { int8Array, int8s } from './binary-array.js'
import type { Database } from './database.js'
import { fenceColumns, firstOfShards, JointCalls } from './joint-calls.js'
import { dollars } from './postgres-claims.js'

interface LevelCall {
  readonly fence: Fence
  readonly settlement: Settlement
}

const MOST_TOGETHER = 256

const SETTLE_LEVELS = `select ${sent(['settled', 'read_positions', 'read_revisions'])}
  from S.settle_levels(${dollars(10)})`

/**
 * Settlements that say no more than how far a shard is done, made durable for many shards by one statement. A shard
 * whose fence or level is against it is left untouched, and has to be settled alone.
 */
export class LevelSettlements {
  readonly #database: Database
  readonly #now: () => number | null
  readonly #calls: JointCalls<LevelCall, SettleAnswer | undefined>

  constructor(database: Database, now: () => number | null) {
    this.#database = database
    this.#now = now
    this.#calls = new JointCalls({
      send: (calls) => this.#send(calls),
      // While one is flushed the next come together.
      mostUnderWay: 1,
      weightOf: () => 1,
      mostWeight: MOST_TOGETHER,
    })
  }

  /** Undefined when nothing was settled. */
  settle(fence: Fence, settlement: Settlement): Promise<SettleAnswer | undefined> {
    return this.#calls.call({ fence, settlement })
  }

  async #send(calls: readonly LevelCall[]): Promise<readonly (SettleAnswer | undefined)[]> {
    const groups = firstOfShards(calls)
    const [row] = await this.#database.write('settle', SETTLE_LEVELS, [
      this.#now(),
      ...fenceColumns(groups),
      int8Array(groups, ({ settlement }) => settlement.id),
      int8Array(groups, ({ settlement }) => settlement.level.position),
      int8Array(groups, ({ settlement }) => settlement.level.revision),
      int8Array(groups, ({ settlement }) => settlement.settledCount),
    ])
    const positions = int8s(listOf(row!, 'read_positions'))
    const revisions = int8s(listOf(row!, 'read_revisions'))
    const answers = new Map<LevelCall, SettleAnswer>()
    for (const [i, number] of int8s(listOf(row!, 'settled')).entries()) {
      const readLevel = { position: positions[i]!, revision: revisions[i]! }
      answers.set(groups[number - 1]!, { followUps: [], dead: [], readLevel })
    }
    return calls.map((call) => answers.get(call))
  }
}

/** Whether a settlement says no more than how far the shard is done. */
export function isLevelOnly({ done, dead, followUps, history }: Settlement): boolean {
  return done.length === 0 && dead.length === 0 && followUps.length === 0 && history.length === 0
}
