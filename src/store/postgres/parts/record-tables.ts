import { anyInteger, cursorOf, parseCursor, textLike } from '../../cursor.js'
import type { DeadLetter, DeadQuery, HistoryEntry, HistoryQuery, Listed } from '../../store.js'
import { arrayOf, numberOf, stringOf } from '../codec/answer-row.js'
import { ArrayElements, int8Array, int8Values } from '../codec/binary-array.js'
import { RowColumns } from '../codec/row-columns.js'
import { deadLetterNumber } from '../codec/write-batch.js'
import { PRUNE_ROWS } from '../defaults.js'
import type { Database } from '../net/database.js'
import { sentRows } from '../schema/owner.js'

/** The records that outlive their timers: dead letters and history. */
export class RecordTables {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async countDead(): Promise<number> {
    const [row] = await this.#database.read('countDead', 'select count(*) as count from S.dead_letter')
    return numberOf(row!, 'count')
  }

  async deadLetters(query: DeadQuery): Promise<Listed<DeadLetter>> {
    const [after = '0'] = parseCursor<[string]>('dead', query.cursor, textLike(/^\d{1,18}$/)) ?? []
    const [row] = await this.#database.read(
      'deadLetters',
      `select array_send(array_agg(t.id)) as ids, array_send(array_agg(t.died_at)) as died_ats,
        array_send(array_agg(t.reason)) as reasons, ${sentRows}
      from (
        select * from S.dead_letter
        where id > $1 and namespace = $2 and ($3::text is null or kind = $3) and ($4::text is null or key = $4)
        order by id limit $5
      ) t`,
      [after, query.namespace, query.kind, query.key, query.limit + 1],
    )
    const ids = int8Values(arrayOf(row!, 'ids'))
    const diedAts = int8Values(arrayOf(row!, 'died_ats'))
    const reasons = new ArrayElements(arrayOf(row!, 'reasons'))
    const columns = new RowColumns(row!)
    const items = Array.from({ length: Math.min(ids.length, query.limit) }, (_, i) => ({
      id: String(ids[i]!),
      row: columns.row(i),
      diedAt: diedAts[i]!,
      reason: reasons.string(i),
    }))
    return {
      items,
      cursor: ids.length > items.length ? cursorOf('dead', [items.at(-1)?.id ?? after]) : undefined,
    }
  }

  async removeDead(namespace: string, ids: readonly string[]): Promise<boolean[]> {
    const numbers = ids.map((id) => deadLetterNumber(id)!)
    const rows = await this.#database.write(
      'removeDead',
      'delete from S.dead_letter where id = any ($1::bigint[]) and namespace = $2 returning id',
      [int8Array(numbers, (number) => number), namespace],
    )
    const removed = new Set(rows.map((row) => numberOf(row, 'id')))
    // An id that was given twice is answered true once.
    return numbers.map((number) => removed.delete(number))
  }

  async history(query: HistoryQuery): Promise<Listed<HistoryEntry>> {
    const [after = 0] = parseCursor<[number]>('history', query.cursor, anyInteger) ?? []
    const rows = await this.#database.read(
      'history',
      `select id, at, identity, namespace, kind, key, event, details from S.history
      where id > $1 and namespace = $2 and ($3::text is null or kind = $3) and ($4::text is null or key = $4)
        and ($5::float8 is null or at >= $5) and ($6::float8 is null or at < $6)
      order by id limit $7`,
      [
        after,
        query.namespace,
        query.kind,
        query.key,
        query.fromInclusive,
        query.untilExclusive,
        query.limit + 1,
      ],
    )
    const items = rows.slice(0, query.limit).map((row) => ({
      namespace: stringOf(row, 'namespace'),
      kind: stringOf(row, 'kind'),
      key: stringOf(row, 'key'),
      identity: numberOf(row, 'identity'),
      at: numberOf(row, 'at'),
      event: stringOf(row, 'event'),
      details: stringOf(row, 'details'),
    }))
    const last = rows[query.limit - 1]
    const hasMore = rows.length > query.limit && last !== undefined
    return { items, cursor: hasMore ? cursorOf('history', [numberOf(last, 'id')]) : undefined }
  }

  async pruneHistory(beforeExclusive: number): Promise<number> {
    let pruned = 0
    for (;;) {
      const [row] = await this.#database.write(
        'pruneHistory',
        `with old as (select ctid from S.history where at < $1::float8 limit ${PRUNE_ROWS}),
          gone as (delete from S.history h using old where h.ctid = old.ctid returning 1)
        select count(*) as count from gone`,
        [beforeExclusive],
      )
      const count = numberOf(row!, 'count')
      pruned += count
      if (count < PRUNE_ROWS) return pruned
    }
  }
}
