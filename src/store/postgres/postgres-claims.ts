import { nameText, shardOf } from '../../timer/index.js'
import type {
  ClaimedRow,
  ClaimProgress,
  ClaimSettlement,
  DueClaim,
  HistoryEntry,
  KindName,
  NextDueQuery,
  Receipt,
} from '../store.js'
import { listOf, numberOf, sent } from './answer-row.js'
import { ElementList, int8Array, int8s, textArray } from './binary-array.js'
import type { Database } from './database.js'
import type { PostgresClient } from './driver.js'
import { historyParameters } from './write-batch.js'
import { rowColumnNames, RowColumns } from './row-columns.js'

const outcomeNumbers = Object.freeze({ done: 0, released: 1, 'follow-up': 2, dead: 3 })

/** Leases on due rows, for stores of the strategy `claim`. */
export class PostgresClaims {
  readonly #database: Database
  readonly #now: () => number | null
  readonly #shardCount: number

  constructor(database: Database, now: () => number | null, shardCount: number) {
    this.#database = database
    this.#now = now
    this.#shardCount = shardCount
  }

  async claimDue({ owner, limit, leaseMs, kinds }: DueClaim): Promise<ClaimedRow[]> {
    const [row] = await this.#database.write(
      'claimDue',
      `select ${sent(['nonces', 'lost_owners', ...rowColumnNames])} from S.claim_due(${dollars(6)})`,
      [this.#now(), owner, limit, leaseMs, ...kindParameters(kinds)],
    )
    const nonces = int8s(listOf(row!, 'nonces'))
    const owners = new ElementList(listOf(row!, 'lost_owners'))
    return new RowColumns(row!).rows().map((timer, index) => {
      const { namespace, kind, key, identity, revision } = timer
      const receipt = { namespace, kind, key, identity, revision, nonce: nonces[index]! }
      return { row: timer, receipt, lostOwner: owners.isNull(index) ? undefined : owners.text(index) }
    })
  }

  async nextDue({ withinMs, kinds }: NextDueQuery): Promise<number | undefined> {
    const [row] = await this.#database.read('nextDue', NEXT_DUE, [
      this.#now(),
      withinMs,
      ...kindParameters(kinds),
    ])
    return row === undefined ? undefined : numberOf(row, 'position')
  }

  async extend(receipts: readonly Receipt[], leaseMs: number): Promise<boolean[]> {
    const [row] = await this.#database.write(
      'extend',
      `select ${sent(['held'])} from S.extend(${dollars(9)})`,
      [this.#now(), leaseMs, ...this.#receipts(receipts)],
    )
    return flags(receipts.length, int8s(listOf(row!, 'held')))
  }

  async settle(
    settlements: readonly ClaimSettlement[],
    history: readonly HistoryEntry[],
    client?: PostgresClient,
  ): Promise<boolean[]> {
    // A lease ends once: whoever comes second with it has lost it.
    const seen = new Set<string>()
    const first: ClaimSettlement[] = []
    const indexes: number[] = []
    for (const [index, settlement] of settlements.entries()) {
      const { receipt } = settlement
      const lease = `${nameText(receipt)}\0${receipt.revision}\0${receipt.nonce}`
      if (seen.has(lease)) continue
      seen.add(lease)
      first.push(settlement)
      indexes.push(index)
    }
    const noted = first.flatMap((settlement, index) =>
      entriesOf(settlement).map((entry) => ({ entry, number: index + 1 })),
    )
    const values = [
      this.#now(),
      ...this.#receipts(first.map(({ receipt }) => receipt)),
      int8Array(first, ({ outcome }) => outcomeNumbers[outcome]),
      int8Array(first, (one) => progressOf(one)?.dueAt),
      int8Array(first, (one) => progressOf(one)?.attempt),
      int8Array(first, (one) => progressOf(one)?.occurrence),
      textArray(first, (one) => progressOf(one)?.details),
      int8Array(first, (one) => (one.outcome === 'dead' ? one.diedAt : null)),
      textArray(first, (one) => (one.outcome === 'dead' ? one.reason : null)),
      ...historyParameters([...history, ...noted.map(({ entry }) => entry)]),
      noted.length === 0
        ? null
        : int8Array([...history.map(() => null), ...noted.map(({ number }) => number)], (number) => number),
    ]
    const [row] =
      client === undefined
        ? await this.#database.write('settleClaimed', SETTLE_CLAIMED, values)
        : await this.#database.writeWith(client, 'settleClaimed', SETTLE_CLAIMED, values)
    const answers = new Array<boolean>(settlements.length).fill(false)
    for (const number of int8s(listOf(row!, 'held'))) answers[indexes[number - 1]!] = true
    return answers
  }

  #receipts(receipts: readonly Receipt[]): Buffer[] {
    return [
      int8Array(receipts, (receipt) => shardOf(receipt, this.#shardCount)),
      textArray(receipts, (receipt) => receipt.namespace),
      textArray(receipts, (receipt) => receipt.kind),
      textArray(receipts, (receipt) => receipt.key),
      int8Array(receipts, (receipt) => receipt.identity),
      int8Array(receipts, (receipt) => receipt.revision),
      int8Array(receipts, (receipt) => receipt.nonce),
    ]
  }
}

const SETTLE_CLAIMED = `select ${sent(['held'])} from S.settle_claimed(${dollars(23)})`

/** From the index by place: the rows between now and then, of which the first that is asked for is enough. */
const NEXT_DUE = `
  select t.position from (select S.now_ms($1) as now offset 0) clock cross join lateral (
    select t.position from S.timer t
    where t.position > clock.now and t.position <= clock.now + $2::bigint
      and ($4::text[] is null or exists (
        select 1 from unnest($3::text[], $4::text[]) as k(namespace, kind)
        where k.namespace = t.namespace and k.kind = t.kind
      ))
    order by t.position limit 1
  ) t`

function kindParameters(kinds: readonly KindName[] | undefined): (Buffer | null)[] {
  if (kinds === undefined) return [null, null]
  return [textArray(kinds, ({ namespace }) => namespace), textArray(kinds, ({ kind }) => kind)]
}

/** What the history gets of a lease that was held to its end. */
function entriesOf({ receipt, notes = [] }: ClaimSettlement): HistoryEntry[] {
  const { namespace, kind, key, identity } = receipt
  return notes.map((note) => ({ namespace, kind, key, identity, ...note }))
}

/** How the row goes on, if it does. */
function progressOf(settlement: ClaimSettlement): ClaimProgress | undefined {
  if (settlement.outcome === 'follow-up') return settlement.progress
  return settlement.outcome === 'dead' ? settlement.next : undefined
}

/** `$1, $2, …` */
export function dollars(count: number): string {
  return Array.from({ length: count }, (_, index) => `$${index + 1}`).join(', ')
}

function flags(size: number, numbers: Float64Array): boolean[] {
  const answers = new Array<boolean>(size).fill(false)
  for (const number of numbers) answers[number - 1] = true
  return answers
}
