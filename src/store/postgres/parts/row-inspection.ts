import { DamageLog } from '../../damage-log.js'
import type { InspectOptions, Inspection, StoreInspection } from '../../store.js'
import { arrayOf, numberOf } from '../codec/answer-row.js'
import { int8Values } from '../codec/binary-array.js'
import { RowColumns } from '../codec/row-columns.js'
import { LIST_ROWS } from '../defaults.js'
import type { Database } from '../net/database.js'
import { sentRows } from '../schema/owner.js'

/**
 * Reads every row and every record, a page at a time. The database checks its own checksums as it reads, if it was made
 * with `--data-checksums`. An error of the database ends the reading of that table.
 *
 * Proven by test/server/deep-verify.test.ts.
 */
export class RowInspection implements StoreInspection {
  readonly #database: Database
  readonly #countRows: () => Promise<number>

  constructor(database: Database, countRows: () => Promise<number>) {
    this.#database = database
    this.#countRows = countRows
  }

  async inspect(options: InspectOptions): Promise<Inspection> {
    const log = new DamageLog(options, await this.#countRows())
    await this.#timers(options, log)
    await this.#table(log, 'dead_letter', 'id', 'octet_length(payload) + octet_length(details)')
    await this.#table(log, 'history', 'id', 'octet_length(details)')
    await this.#table(log, 'setting', 'name', 'octet_length(value)')
    await this.#table(log, 'inbox', 'id', 'octet_length(operation) + octet_length(payload)')
    return log.result()
  }

  async #timers({ checkRow }: InspectOptions, log: DamageLog): Promise<void> {
    let from: readonly number[] = [0, 0, 0]
    for (;;) {
      log.step()
      const [row] = await this.#read(log, 'timer', `the rows from shard ${from[0]} on`, () =>
        this.#database.read(
          'inspect',
          `select array_send(array_agg(t.shard::bigint)) as shards, ${sentRows} from (
            select t.* from S.timer t join S.shard s using (shard)
            where (t.shard, t.position, t.revision) >= ($1, $2, $3)
              and (t.position, t.revision) >= (s.settled_position, s.settled_revision)
            order by t.shard, t.position, t.revision limit $4
          ) t`,
          [...from, LIST_ROWS],
        ),
      )
      if (row === undefined) return
      const shards = int8Values(arrayOf(row, 'shards'))
      const columns = new RowColumns(row)
      for (let i = 0; i < columns.size; i++) {
        log.rows++
        const place = `shard ${shards[i]}, position ${columns.positions[i]}, revision ${columns.revisions[i]}`
        log.try(`timer: ${place}`, () => {
          const what = checkRow(columns.row(i))
          if (what !== undefined) log.add(`timer: ${place}`, what)
        })
      }
      if (columns.size < LIST_ROWS) return
      const last = columns.size - 1
      from = [shards[last]!, columns.positions[last]!, columns.revisions[last]! + 1]
    }
  }

  /** Reads the long values of a table, which the database may keep apart from the rows. */
  async #table(log: DamageLog, table: string, order: string, bytes: string): Promise<void> {
    log.step()
    const [row] = await this.#read(log, table, 'its rows', () =>
      this.#database.read(
        'inspect',
        `select count(*) as count, coalesce(sum(${bytes}), 0)::bigint as bytes
        from (select * from S.${table} order by ${order}) t`,
      ),
    )
    if (row !== undefined) log.records += numberOf(row, 'count')
  }

  async #read<Row>(
    log: DamageLog,
    table: string,
    what: string,
    read: () => Promise<readonly Row[]>,
  ): Promise<readonly Row[]> {
    try {
      return await read()
    } catch (error) {
      log.add(table, `${what} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
      return []
    }
  }
}
