import { MAIL_KEPT_MS, MAX_MAIL } from '../../mailboxes.js'
import type { MailMessage } from '../../store.js'
import { stringOf } from '../codec/answer-row.js'
import { textArray } from '../codec/binary-array.js'
import type { Database } from '../net/database.js'
import { MAIL_MARK, wakeChannelOf } from '../net/wake-channel.js'

// One statement stores the messages, forgets old ones, and wakes the members.
const POST = `with clock as materialized (select S.now_ms($1::bigint) as now),
  gone as (delete from S.mail m using clock where m.posted_at <= clock.now - ${MAIL_KEPT_MS}),
  posted as (
    insert into S.mail (member, message, posted_at)
    select p.member, p.message, clock.now
    from clock, unnest($2::text[], $3::text[]) with ordinality as p(member, message, n) order by p.n
    returning member
  )
  select pg_notify($4, '${MAIL_MARK}' || member)::text from (select distinct member from posted) m`

const TAKE = `with clock as materialized (select S.now_ms($3::bigint) as now),
  oldest as (
    select id from S.mail where member = $1 order by id limit least($2::bigint, ${MAX_MAIL}) for update skip locked
  ),
  taken as (delete from S.mail m using oldest where m.id = oldest.id returning m.id, m.message, m.posted_at)
  select message from taken, clock where posted_at > clock.now - ${MAIL_KEPT_MS} order by id`

/**
 * The mailboxes of the members. The table is not logged: mail may get lost, and it should cost little.
 *
 * Proven by test/store/postgres/contract.test.ts.
 */
export class MailTable {
  readonly #database: Database
  readonly #now: () => number | null

  constructor(database: Database, now: () => number | null) {
    this.#database = database
    this.#now = now
  }

  async post(messages: readonly MailMessage[]): Promise<void> {
    if (messages.length === 0) return
    await this.#database.write('post', POST, [
      this.#now(),
      textArray(messages, ({ member }) => member),
      textArray(messages, ({ text }) => text),
      wakeChannelOf(this.#database),
    ])
  }

  async take(member: string, limit: number): Promise<readonly string[]> {
    const rows = await this.#database.write('takeMail', TAKE, [member, limit, this.#now()])
    return rows.map((row) => stringOf(row, 'message'))
  }
}
