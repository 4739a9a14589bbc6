import { firstPlace, type Place } from '../../timer/index.js'
import { DamageLog } from '../damage-log.js'
import type { InspectOptions, Inspection, StoreInspection } from '../store.js'
import { MAX_LIST_READ } from './defaults.js'
import { parseEntry, parseLetter } from './codec/record-codec.js'
import type { RedisShard } from './redis-shard.js'

const SCANNED = '500'

/**
 * Reads every row and every record, a page at a time. Redis has no checksums in memory, so a value is damaged if it
 * cannot be read.
 *
 * Proven by test/server/deep-verify.test.ts.
 */
export class RowInspection implements StoreInspection {
  readonly #shards: readonly RedisShard[]

  constructor(shards: readonly RedisShard[]) {
    this.#shards = shards
  }

  async inspect(options: InspectOptions): Promise<Inspection> {
    let totalRows = 0
    for (const shard of this.#shards) totalRows += await shard.countRows()
    const log = new DamageLog(options, totalRows)
    for (const shard of this.#shards) {
      await this.#rows(shard, options, log)
      await this.#records(shard, log)
    }
    return log.result()
  }

  async #rows(shard: RedisShard, { checkRow }: InspectOptions, log: DamageLog): Promise<void> {
    for (let from: Place | undefined = firstPlace; from !== undefined;) {
      log.step()
      const { page, next }: Awaited<ReturnType<RedisShard['listPage']>> = await shard.listPage(
        from,
        MAX_LIST_READ,
        {},
      )
      for (let i = 0; i < page.size; i++) {
        log.rows++
        const where = `shard ${shard.shard}, position ${page.positions[i]}, revision ${page.revisions[i]}`
        log.try(where, () => {
          const what = checkRow(page.row(i))
          if (what !== undefined) log.add(where, what)
        })
      }
      from = next
    }
  }

  async #records(shard: RedisShard, log: DamageLog): Promise<void> {
    await this.#scan(
      shard,
      'HSCAN',
      'dead',
      log,
      (number, bytes) => void parseLetter(0, String(number), bytes),
    )
    await this.#scan(shard, 'ZSCAN', 'history', log, (member) => void parseEntry(member))
  }

  async #scan(
    { nodes, key, shard }: RedisShard,
    command: string,
    name: string,
    log: DamageLog,
    read: (field: Buffer, value: Buffer) => void,
  ): Promise<void> {
    for (let cursor = ''; cursor !== '0';) {
      log.step()
      const call = [command, `${key}:${name}`, cursor === '' ? '0' : cursor, 'COUNT', SCANNED]
      const [next, pairs] = (await nodes.call(key, call)) as [Buffer, Buffer[]]
      for (let i = 0; i < pairs.length; i += 2) {
        log.records++
        log.try(`shard ${shard}, ${name}`, () => read(pairs[i]!, pairs[i + 1]!))
      }
      cursor = String(next)
    }
  }
}
