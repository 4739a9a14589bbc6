import { nameText, shardOf } from '../../timer/index.js'
import type { ClaimedRow, ClaimProgress, ClaimSettlement, DueClaim, HistoryEntry, Receipt } from '../store.js'
import { listOf, sent } from './answer-row.js'
import { int8Array, int8s, textArray } from './binary-array.js'
import type { Database } from './database.js'
import { historyParameters } from './owner-write.js'
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
      `select ${sent(['nonces', ...rowColumnNames])} from S.claim_due(${dollars(6)})`,
      [
        this.#now(),
        owner,
        limit,
        leaseMs,
        kinds === undefined ? null : textArray(kinds, (kind) => kind.namespace),
        kinds === undefined ? null : textArray(kinds, (kind) => kind.kind),
      ],
    )
    const nonces = int8s(listOf(row!, 'nonces'))
    return new RowColumns(row!).rows().map((timer, index) => {
      const { namespace, kind, key, identity, revision } = timer
      return { row: timer, receipt: { namespace, kind, key, identity, revision, nonce: nonces[index]! } }
    })
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
    const [row] = await this.#database.write(
      'settleClaimed',
      `select ${sent(['held'])} from S.settle_claimed(${dollars(22)})`,
      [
        this.#now(),
        ...this.#receipts(first.map(({ receipt }) => receipt)),
        int8Array(first, ({ outcome }) => outcomeNumbers[outcome]),
        int8Array(first, (one) => progressOf(one)?.dueAt),
        int8Array(first, (one) => progressOf(one)?.attempt),
        int8Array(first, (one) => progressOf(one)?.occurrence),
        textArray(first, (one) => progressOf(one)?.details),
        int8Array(first, (one) => (one.outcome === 'dead' ? one.diedAt : null)),
        textArray(first, (one) => (one.outcome === 'dead' ? one.reason : null)),
        ...historyParameters(history),
      ],
    )
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
