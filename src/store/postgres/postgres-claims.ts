import { levelAt, nameKey, shardOf } from '../../timer/index.js'
import type {
  ClaimedRow,
  ClaimProgress,
  ClaimSettlement,
  DueClaim,
  HistoryEntry,
  KindName,
  LongLease,
  LongLeaseQuery,
  NextDueQuery,
  ClaimToken,
  OwnerWrite,
  WriteAnswer,
} from '../store.js'
import { arrayOf, numberOf, sentArrays, stringOf } from './codec/answer-row.js'
import { ArrayElements, int8Array, int8Values, textArray } from './codec/binary-array.js'
import { placeholders } from './codec/parameters.js'
import { rowColumnNames, RowColumns } from './codec/row-columns.js'
import { historyParameters, writeAnswerColumns, WriteBatch } from './codec/write-batch.js'
import type { Database } from './net/database.js'
import type { PostgresClient } from './net/driver.js'

const outcomeNumbers = Object.freeze({ done: 0, released: 1, 'follow-up': 2, dead: 3 })

/**
 * The calls of stores in the mode `claim`: writes without an owner, and claims of due rows.
 *
 * Proven by test/store/postgres/contract.test.ts, test/store/postgres/concurrent-processes.test.ts and
 * test/store/postgres/claim.test.ts.
 */
export class PostgresClaims {
  readonly #database: Database
  readonly #now: () => number | null
  readonly #shardCount: number

  constructor(database: Database, now: () => number | null, shardCount: number) {
    this.#database = database
    this.#now = now
    this.#shardCount = shardCount
  }

  async write(write: OwnerWrite): Promise<WriteAnswer> {
    const batch = new WriteBatch(write)
    const shards = int8Array(write.operations, (one) =>
      one.type === 'answer' ? null : shardOf(one, this.#shardCount),
    )
    const values = [this.#now(), ...batch.parameters(shards)]
    const [row] = await this.#database.write('write', WRITE_CLAIMED, values)
    const revisions = batch.newRevisions(row!)
    const settledLevel = levelAt(0)
    const answers = batch.answers(row!, {
      revisionOf: (index) => revisions[index]!,
      settledLevelOf: () => settledLevel,
    })
    return { answers, readLevel: levelAt(0) }
  }

  async claimDue({ owner, limit, leaseMs, kinds }: DueClaim): Promise<ClaimedRow[]> {
    const [row] = await this.#database.write(
      'claimDue',
      `select ${sentArrays(['nonces', 'lost_owners', ...rowColumnNames])} from S.claim_due(${placeholders(6)})`,
      [this.#now(), owner, limit, leaseMs, ...kindParameters(kinds)],
    )
    const nonces = int8Values(arrayOf(row!, 'nonces'))
    const owners = new ArrayElements(arrayOf(row!, 'lost_owners'))
    return new RowColumns(row!).rows().map((timer, index) => {
      const { namespace, kind, key, identity, revision } = timer
      const token = { namespace, kind, key, identity, revision, nonce: nonces[index]! }
      return { row: timer, token, lostOwner: owners.isNull(index) ? undefined : owners.string(index) }
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

  async extend(tokens: readonly ClaimToken[], leaseMs: number): Promise<boolean[]> {
    const [row] = await this.#database.write(
      'extend',
      `select ${sentArrays(['held'])} from S.extend(${placeholders(9)})`,
      [this.#now(), leaseMs, ...this.#tokenColumns(tokens)],
    )
    return flagsAt(int8Values(arrayOf(row!, 'held')), tokens.length)
  }

  async longLeases({ beyondMs, limit }: LongLeaseQuery): Promise<LongLease[]> {
    const rows = await this.#database.read('longLeases', LONG_LEASES, [this.#now(), beyondMs, limit])
    return rows.map((row) => ({
      namespace: stringOf(row, 'namespace'),
      kind: stringOf(row, 'kind'),
      key: stringOf(row, 'key'),
      identity: numberOf(row, 'identity'),
      revision: numberOf(row, 'revision'),
      nonce: numberOf(row, 'nonce'),
      until: numberOf(row, 'until'),
    }))
  }

  async cutShort(leases: readonly LongLease[]): Promise<boolean[]> {
    const [row] = await this.#database.write('cutShort', CUT_SHORT, [
      this.#now(),
      ...this.#tokenColumns(leases),
      int8Array(leases, ({ until }) => until),
    ])
    return flagsAt(int8Values(arrayOf(row!, 'held')), leases.length)
  }

  async settle(
    settlements: readonly ClaimSettlement[],
    history: readonly HistoryEntry[],
    client?: PostgresClient,
  ): Promise<boolean[]> {
    // A claim can be settled once. A second settlement with the same token is answered false.
    const seen = new Set<string>()
    const first: ClaimSettlement[] = []
    const indexes: number[] = []
    for (const [index, settlement] of settlements.entries()) {
      const { token } = settlement
      const key = `${nameKey(token)}\0${token.revision}\0${token.nonce}`
      if (seen.has(key)) continue
      seen.add(key)
      first.push(settlement)
      indexes.push(index)
    }
    const entries = first.flatMap((settlement, index) =>
      entriesOf(settlement).map((entry) => ({ entry, number: index + 1 })),
    )
    const values = [
      this.#now(),
      ...this.#tokenColumns(first.map(({ token }) => token)),
      int8Array(first, ({ outcome }) => outcomeNumbers[outcome]),
      int8Array(first, (one) => progressOf(one)?.dueAt),
      int8Array(first, (one) => progressOf(one)?.attempt),
      int8Array(first, (one) => progressOf(one)?.occurrence),
      textArray(first, (one) => progressOf(one)?.details),
      int8Array(first, (one) => (one.outcome === 'dead' ? one.diedAt : null)),
      textArray(first, (one) => (one.outcome === 'dead' ? one.reason : null)),
      ...historyParameters([...history, ...entries.map(({ entry }) => entry)]),
      entries.length === 0
        ? null
        : int8Array([...history.map(() => null), ...entries.map(({ number }) => number)], (number) => number),
    ]
    const [row] =
      client === undefined
        ? await this.#database.write('settleClaimed', SETTLE_CLAIMED, values)
        : await this.#database.writeWith(client, 'settleClaimed', SETTLE_CLAIMED, values)
    const answers = new Array<boolean>(settlements.length).fill(false)
    for (const number of int8Values(arrayOf(row!, 'held'))) answers[indexes[number - 1]!] = true
    return answers
  }

  #tokenColumns(tokens: readonly ClaimToken[]): Buffer[] {
    return [
      int8Array(tokens, (token) => shardOf(token, this.#shardCount)),
      textArray(tokens, (token) => token.namespace),
      textArray(tokens, (token) => token.kind),
      textArray(tokens, (token) => token.key),
      int8Array(tokens, (token) => token.identity),
      int8Array(tokens, (token) => token.revision),
      int8Array(tokens, (token) => token.nonce),
    ]
  }
}

const WRITE_CLAIMED = `select ${sentArrays(['new_revisions'])}, ${writeAnswerColumns} from S.write_claimed(${placeholders(32)})`
const SETTLE_CLAIMED = `select ${sentArrays(['held'])} from S.settle_claimed(${placeholders(23)})`

/** Scans the rows from now to the end of the window in the order of their places, up to the first match. */
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

/** Uses the same index as a claim. It costs about as much as a claim that finds nothing. */
const LONG_LEASES = `
  select t.* from (select S.now_ms($1) as now offset 0) clock cross join lateral (
    select t.namespace::text as namespace, t.kind::text as kind, t.key::text as key, t.identity, t.revision,
      t.lease_nonce as nonce, t.lease_until as until
    from S.timer t
    where t.position <= clock.now and t.lease_until > clock.now + $2::bigint
    order by t.position, t.revision limit $3::bigint
  ) t`

/** Skips locked rows: another call works on such a row, and its lease has changed or is about to. */
const CUT_SHORT = `
  with clock as materialized (select S.now_ms($1) as now), held as materialized (
    select r.n, t.tid from unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
        $8::bigint[], $9::bigint[])
      with ordinality as r(shard, namespace, kind, key, identity, revision, nonce, until, n)
    cross join lateral (
      select t.ctid as tid from S.timer t
      where t.key = r.key and t.kind = r.kind and t.namespace = r.namespace and t.shard + 0 = r.shard
        and t.identity = r.identity and t.revision = r.revision and t.lease_nonce = r.nonce
        and t.lease_until = r.until
      for no key update skip locked offset 0
    ) t
  ), cut as (
    update S.timer t set lease_until = clock.now from held h, clock where t.ctid = h.tid and t.lease_until > clock.now
    returning h.n
  ) select array_send(array_agg(n)) as held from cut`

function kindParameters(kinds: readonly KindName[] | undefined): (Buffer | null)[] {
  if (kinds === undefined) return [null, null]
  return [textArray(kinds, ({ namespace }) => namespace), textArray(kinds, ({ kind }) => kind)]
}

/** The history entries of a settlement. They are stored only if the claim still held. */
function entriesOf({ token, notes = [] }: ClaimSettlement): HistoryEntry[] {
  const { namespace, kind, key, identity } = token
  return notes.map((note) => ({ namespace, kind, key, identity, ...note }))
}

/** How the row goes on after the settlement; undefined if it ends or its claim is released. */
function progressOf(settlement: ClaimSettlement): ClaimProgress | undefined {
  if (settlement.outcome === 'follow-up') return settlement.progress
  return settlement.outcome === 'dead' ? settlement.next : undefined
}

/** An array of booleans, true at each number, counted from 1. */
function flagsAt(numbers: Float64Array, size: number): boolean[] {
  const answers = new Array<boolean>(size).fill(false)
  for (const number of numbers) answers[number - 1] = true
  return answers
}
