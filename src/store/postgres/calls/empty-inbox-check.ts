import type { Fence } from '../../store.js'
import { arrayOf } from '../codec/answer-row.js'
import { int8Values } from '../codec/binary-array.js'
import { fenceColumns } from '../codec/parameters.js'
import { MAX_SHARDS_TOGETHER } from '../defaults.js'
import type { Database } from '../net/database.js'
import { CallCoalescer } from './call-coalescer.js'

// Returns the shards whose fence holds and whose inbox is empty. One snapshot shows both, without a lock.
const EMPTY = `select array_send(array_agg(g.n)) as numbers
  from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) with ordinality
    as g(shard, epoch, nonce, settled_position, settled_revision, n)
  cross join lateral (
    select 1 from S.shard s where s.shard = g.shard and s.epoch = g.epoch and s.nonce = g.nonce
      and (s.settled_position, s.settled_revision) >= (g.settled_position, g.settled_revision) offset 0
  ) s
  left join lateral (
    select i.shard from S.inbox i where i.shard = g.shard order by i.shard, i.arrival limit 1
  ) i on true
  where i.shard is null`

/**
 * Checks by one statement which of many inboxes are empty. An owner checks each of its inboxes every second and mostly
 * finds nothing. A statement for each would wait for the shard's writer, and take connections from calls that write.
 *
 * Proven by test/store/postgres/shared-statements.test.ts.
 */
export class EmptyInboxCheck {
  readonly #database: Database
  readonly #calls: CallCoalescer<Fence, boolean>

  constructor(database: Database) {
    this.#database = database
    this.#calls = new CallCoalescer({
      send: (fences) => this.#send(fences),
      maxInFlight: 1,
      weightOf: () => 1,
      maxWeight: MAX_SHARDS_TOGETHER,
    })
  }

  /** Whether the inbox of the fence's shard is empty. Also false if the fence does not hold. */
  isEmpty(fence: Fence): Promise<boolean> {
    return this.#calls.call(fence)
  }

  async #send(fences: readonly Fence[]): Promise<boolean[]> {
    const [row] = await this.#database.read('requests', EMPTY, fenceColumns(fences))
    const answers = fences.map(() => false)
    for (const number of int8Values(arrayOf(row!, 'numbers'))) answers[number - 1] = true
    return answers
  }
}
