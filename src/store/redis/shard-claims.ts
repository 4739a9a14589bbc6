import { nameKey } from '../../timer/index.js'
import type {
  ClaimedRow,
  ClaimSettlement,
  DueClaim,
  HistoryEntry,
  KindName,
  LongLease,
  LongLeaseQuery,
  NextDueQuery,
  ClaimToken,
} from '../store.js'
import { Packer } from './codec/packer.js'
import { parsePlace } from './codec/place-codec.js'
import { historyArgs, type RedisShard } from './redis-shard.js'
import { rowOf } from './codec/row-codec.js'
import type { ShardScripts } from './scripts/shard-scripts.js'
import { packClaimSettlement } from './codec/settlement-codec.js'

/** Row claims of one shard, in a store of mode `claim`. `RedisClaims` combines the shards. */
export class ShardClaims {
  readonly shard: RedisShard
  readonly #scripts: ShardScripts

  constructor(shard: RedisShard, scripts: ShardScripts) {
    this.shard = shard
    this.#scripts = scripts
  }

  /** The places of the rows that could be claimed now, as strings. */
  async peekDue(claim: DueClaim): Promise<string[]> {
    const args = [String(claim.limit), ...scopesOf(claim)]
    return ((await this.shard.run(this.#scripts.peekDue, args)) as Buffer[]).map(String)
  }

  async claimDue(claim: DueClaim, limit: number): Promise<ClaimedRow[]> {
    const args = [String(limit), String(claim.leaseMs), claim.owner, ...scopesOf(claim)]
    const flat = (await this.shard.run(this.#scripts.claimDue, args)) as Buffer[]
    const rows: ClaimedRow[] = []
    for (let index = 0; index < flat.length; index += 4) {
      const row = rowOf(flat[index]!, flat[index + 1]!)
      const { namespace, kind, key, identity, revision } = row
      rows.push({
        row,
        token: { namespace, kind, key, identity, revision, nonce: Number(flat[index + 2]) },
        lostOwner: lostOwnerOf(String(flat[index + 3])),
      })
    }
    return rows
  }

  async nextDue(query: NextDueQuery): Promise<number | undefined> {
    const args = [String(query.withinMs), ...scopesOf(query)]
    const place = await this.shard.run(this.#scripts.nextDue, args)
    return place === null ? undefined : parsePlace(String(place)).position
  }

  async extend(tokens: readonly ClaimToken[], leaseMs: number): Promise<boolean[]> {
    const packer = new Packer()
    for (const token of tokens) {
      packer.stringAfterShort(nameKey(token)).double(token.revision).double(token.nonce)
    }
    const args = [String(leaseMs), String(tokens.length), packer.done()]
    return flagsOf(await this.shard.run(this.#scripts.extend, args))
  }

  /** Each lease with the position of its row. */
  async longLeases({
    beyondMs,
    limit,
  }: LongLeaseQuery): Promise<{ readonly position: number; readonly lease: LongLease }[]> {
    const args = [String(beyondMs), String(limit)]
    const flat = (await this.shard.run(this.#scripts.longLeases, args)) as Buffer[]
    return Array.from({ length: flat.length / 4 }, (_, index) => {
      const [place, value, nonce, until] = flat.slice(4 * index) as [Buffer, Buffer, Buffer, Buffer]
      const { namespace, kind, key, identity, revision, position } = rowOf(place, value)
      const token = { namespace, kind, key, identity, revision, nonce: Number(nonce) }
      return { position, lease: { ...token, until: Number(until) } }
    })
  }

  async cutShort(leases: readonly LongLease[]): Promise<boolean[]> {
    const packer = new Packer()
    for (const lease of leases) {
      packer.stringAfterShort(nameKey(lease)).double(lease.revision).double(lease.nonce).double(lease.until)
    }
    const args = [String(leases.length), packer.done()]
    return flagsOf(await this.shard.run(this.#scripts.cutShort, args))
  }

  async settle(
    settlements: readonly ClaimSettlement[],
    history: readonly HistoryEntry[],
  ): Promise<boolean[]> {
    const packer = new Packer()
    for (const settlement of settlements) packClaimSettlement(packer, settlement)
    const args = [String(settlements.length), packer.done(), ...historyArgs(history)]
    return flagsOf(await this.shard.run(this.#scripts.settleClaimed, args))
  }
}

function scopesOf({ kinds }: { readonly kinds?: readonly KindName[] }): string[] {
  if (kinds === undefined) return ['all']
  return ['some', ...kinds.map(({ namespace, kind }) => `${namespace}\0${kind}`)]
}

/** The script puts a mark before the name, so that an owner with an empty name differs from no owner. */
function lostOwnerOf(text: string): string | undefined {
  return text === '' ? undefined : text.slice(1)
}

function flagsOf(reply: unknown): boolean[] {
  return Array.from(String(reply), (letter) => letter === '1')
}
