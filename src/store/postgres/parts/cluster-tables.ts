import type { Member, Setting } from '../../store.js'
import { numberOf, stringOf } from '../codec/answer-row.js'
import { storable } from '../codec/binary-array.js'
import type { Database } from '../net/database.js'

/**
 * The database's clock in microseconds, its full precision. Divided by 1000 in JavaScript, it is the nearest number of
 * milliseconds, and a fraction of a millisecond is never rounded to a whole one.
 */
export const MICROSECONDS = 'floor(extract(epoch from clock_timestamp()) * 1000000)::bigint'

/**
 * The tables that instances share besides timers: members and settings.
 *
 * Proven by test/store/postgres/contract.test.ts and test/store/postgres/exact-clock.test.ts.
 */
export class ClusterTables {
  readonly #database: Database
  readonly #now: () => number | null

  constructor(database: Database, now: () => number | null) {
    this.#database = database
    this.#now = now
  }

  /**
   * Also removes members whose heartbeat ran out, and up to 1,000 answers whose deadline has passed. It keeps the latest
   * removed deadline of each shard: a request with an earlier one must not come in again.
   */
  async heartbeat(member: Member, ttlMs: number): Promise<{ now: number; members: Member[] }> {
    const given = this.#now()
    const rows = await this.#database.write(
      'heartbeat',
      `with clock as materialized (
          select coalesce($1::bigint, c.exact / 1000) as now, c.exact from (select ${MICROSECONDS} as exact offset 0) c
        ),
        mine as (
          insert into S.member (id, details, until) select $2, $3, now + $4::bigint from clock
          on conflict (id) do update set details = excluded.details, until = excluded.until
        ),
        ahead as (
          select m.id, clock.now from S.member m, clock where m.until > clock.now + 2 * $4::bigint and m.id <> $2
          for update of m skip locked
        ),
        cut as (update S.member m set until = ahead.now + $4::bigint from ahead where m.id = ahead.id),
        gone as (delete from S.member m using clock where m.until <= clock.now and m.id <> $2),
        old as (
          select a.ctid, a.shard, a.deadline from S.answer a, clock where a.deadline <= clock.now and a.id <> ''
          order by a.deadline limit 1000 for update of a skip locked
        ),
        forgotten as (delete from S.answer a using old where a.ctid = old.ctid),
        latest as (
          insert into S.answer as a (shard, id, outcome, deadline)
          select shard, '', 0, max(deadline) from old group by shard order by shard
          on conflict (shard, id) do update set deadline = greatest(a.deadline, excluded.deadline)
        )
      select clock.exact, m.id, m.details
      from clock left join S.member m on m.until > clock.now and m.id <> $2 order by m.id`,
      [given, member.id, storable(member.details), ttlMs],
    )
    const others = rows
      .filter((row) => row['id'] !== null)
      .map((row) => ({ id: stringOf(row, 'id'), details: stringOf(row, 'details') }))
    return {
      now: given ?? numberOf(rows[0]!, 'exact') / 1000,
      members: [{ id: member.id, details: member.details }, ...others],
    }
  }

  async removeMember(id: string): Promise<void> {
    await this.#database.write(
      'removeMember',
      'with mail as (delete from S.mail where member = $1) delete from S.member where id = $1',
      [id],
    )
  }

  async settings(prefix: string): Promise<Setting[]> {
    const rows = await this.#database.read(
      'settings',
      'select name, value, version from S.setting where starts_with(name, $1) order by name',
      [prefix],
    )
    return rows.map((row) => ({
      name: stringOf(row, 'name'),
      value: stringOf(row, 'value'),
      version: numberOf(row, 'version'),
    }))
  }

  async putSetting(
    name: string,
    value: string | undefined,
    ifVersion: number | undefined,
  ): Promise<number | undefined> {
    const sql = value === undefined ? removeSql(ifVersion) : putSql(ifVersion)
    const values = [name, ...(value === undefined ? [] : [storable(value)])]
    if (ifVersion !== undefined && ifVersion !== 0) values.push(String(ifVersion))
    const [row] = await this.#database.write('putSetting', sql, values)
    return row === undefined ? undefined : numberOf(row, 'version')
  }
}

// All settings share one sequence. So a setting that was removed and added again never has an old version.
const NEXT = "nextval('S.setting_version')"

function putSql(ifVersion: number | undefined): string {
  const insert = `insert into S.setting (name, value, version) values ($1, $2, ${NEXT}) on conflict (name)`
  if (ifVersion === undefined) {
    return `${insert} do update set value = excluded.value, version = excluded.version returning version`
  }
  if (ifVersion === 0) return `${insert} do nothing returning version`
  return `update S.setting set value = $2, version = ${NEXT} where name = $1 and version = $3::bigint returning version`
}

function removeSql(ifVersion: number | undefined): string {
  if (ifVersion === undefined) {
    return `with gone as (delete from S.setting where name = $1) select ${NEXT} as version`
  }
  if (ifVersion === 0) {
    return `select ${NEXT} as version where not exists (select 1 from S.setting where name = $1)`
  }
  return `with gone as (delete from S.setting where name = $1 and version = $2::bigint returning 1)
    select ${NEXT} as version from gone`
}
