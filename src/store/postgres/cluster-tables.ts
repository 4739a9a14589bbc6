import type { Member, Setting } from '../store.js'
import { numberOf, textOf } from './answer-row.js'
import { keepable } from './binary-array.js'
import type { Database } from './database.js'

/** What instances share beside timers: members and settings. */
export class ClusterTables {
  readonly #database: Database
  readonly #now: () => number | null

  constructor(database: Database, now: () => number | null) {
    this.#database = database
    this.#now = now
  }

  /** Also forgets members whose heartbeat is over, and some of the answers whose deadline has passed. */
  async heartbeat(member: Member, ttlMs: number): Promise<{ now: number; members: Member[] }> {
    const rows = await this.#database.write(
      'heartbeat',
      `with clock as materialized (select S.now_ms($1::bigint) as now),
        mine as (
          insert into S.member (id, details, until) select $2, $3, now + $4::bigint from clock
          on conflict (id) do update set details = excluded.details, until = excluded.until
        ),
        gone as (delete from S.member m using clock where m.until <= clock.now and m.id <> $2),
        old as (
          select a.ctid from S.answer a, clock where a.deadline <= clock.now
          order by a.deadline limit 1000 for update of a skip locked
        ),
        forgotten as (delete from S.answer a using old where a.ctid = old.ctid)
      select clock.now, m.id, m.details
      from clock left join S.member m on m.until > clock.now and m.id <> $2 order by m.id`,
      [this.#now(), member.id, keepable(member.details), ttlMs],
    )
    const others = rows
      .filter((row) => row['id'] !== null)
      .map((row) => ({ id: textOf(row, 'id'), details: textOf(row, 'details') }))
    return {
      now: numberOf(rows[0]!, 'now'),
      members: [{ id: member.id, details: member.details }, ...others],
    }
  }

  async leave(id: string): Promise<void> {
    await this.#database.write('leave', 'delete from S.member where id = $1', [id])
  }

  async settings(prefix: string): Promise<Setting[]> {
    const rows = await this.#database.read(
      'settings',
      'select name, value, version from S.setting where starts_with(name, $1) order by name',
      [prefix],
    )
    return rows.map((row) => ({
      name: textOf(row, 'name'),
      value: textOf(row, 'value'),
      version: numberOf(row, 'version'),
    }))
  }

  async putSetting(
    name: string,
    value: string | undefined,
    ifVersion: number | undefined,
  ): Promise<number | undefined> {
    const sql = value === undefined ? removal(ifVersion) : put(ifVersion)
    const values = [name, ...(value === undefined ? [] : [keepable(value)])]
    if (ifVersion !== undefined && ifVersion !== 0) values.push(String(ifVersion))
    const [row] = await this.#database.write('putSetting', sql, values)
    return row === undefined ? undefined : numberOf(row, 'version')
  }
}

// Versions are the store's, not the setting's: one that went and came again is not mistaken for the old one.
const NEXT = "nextval('S.setting_version')"

function put(ifVersion: number | undefined): string {
  const insert = `insert into S.setting (name, value, version) values ($1, $2, ${NEXT}) on conflict (name)`
  if (ifVersion === undefined) {
    return `${insert} do update set value = excluded.value, version = excluded.version returning version`
  }
  if (ifVersion === 0) return `${insert} do nothing returning version`
  return `update S.setting set value = $2, version = ${NEXT} where name = $1 and version = $3::bigint returning version`
}

function removal(ifVersion: number | undefined): string {
  if (ifVersion === undefined) {
    return `with gone as (delete from S.setting where name = $1) select ${NEXT} as version`
  }
  if (ifVersion === 0) {
    return `select ${NEXT} as version where not exists (select 1 from S.setting where name = $1)`
  }
  return `with gone as (delete from S.setting where name = $1 and version = $2::bigint returning 1)
    select ${NEXT} as version from gone`
}
