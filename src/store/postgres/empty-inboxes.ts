import type { Fence } from '../store.js'
import { listOf } from './answer-row.js'
import { int8Array, int8s } from './binary-array.js'
import type { Database } from './database.js'
import { JointCalls } from './joint-calls.js'

const MOST_TOGETHER = 256

// A shard is named when it is its owner's who asks, and nothing is in its inbox: both by one snapshot, without a lock.
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
 * Tells of inboxes that nothing is in them, of many by one statement. An owner looks into each of its inboxes every
 * second and mostly finds nothing: a statement for each, which waits for whoever writes to the shard, would keep
 * connections from those who have something to write.
 */
export class EmptyInboxes {
  readonly #database: Database
  readonly #calls: JointCalls<Fence, boolean>

  constructor(database: Database) {
    this.#database = database
    this.#calls = new JointCalls({
      send: (fences) => this.#send(fences),
      mostUnderWay: 1,
      weightOf: () => 1,
      mostWeight: MOST_TOGETHER,
    })
  }

  /** Whether nothing is in the inbox of the fence's shard; false also where the fence is not the shard's. */
  isEmpty(fence: Fence): Promise<boolean> {
    return this.#calls.call(fence)
  }

  async #send(fences: readonly Fence[]): Promise<boolean[]> {
    const [row] = await this.#database.read('requests', EMPTY, [
      int8Array(fences, ({ shard }) => shard),
      int8Array(fences, ({ epoch }) => epoch),
      int8Array(fences, ({ nonce }) => nonce),
      int8Array(fences, ({ settledLevel }) => settledLevel.position),
      int8Array(fences, ({ settledLevel }) => settledLevel.revision),
    ])
    const answers = fences.map(() => false)
    for (const number of int8s(listOf(row!, 'numbers'))) answers[number - 1] = true
    return answers
  }
}
