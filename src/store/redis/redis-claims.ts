import { nameText } from '../../timer/index.js'
import type {
  ClaimedRow,
  ClaimSettlement,
  DueClaim,
  HistoryEntry,
  KindName,
  NextDueQuery,
  Receipt,
} from '../store.js'
import { Packer } from './packer.js'
import { parsePlace } from './place-text.js'
import { historyWords, type RedisShard } from './redis-shard.js'
import { rowOf } from './row-codec.js'
import type { ShardScripts } from './scripts.js'
import { packClaimSettlement } from './settlement-codec.js'

/** What a shard of the strategy `claim` does: leases of its due rows. */
export class RedisClaims {
  readonly shard: RedisShard
  readonly #scripts: ShardScripts

  constructor(shard: RedisShard, scripts: ShardScripts) {
    this.shard = shard
    this.#scripts = scripts
  }

  /** The places, as text, of what could be claimed now. */
  async due(claim: DueClaim): Promise<string[]> {
    const words = [String(claim.limit), ...scopesOf(claim)]
    return ((await this.shard.run(this.#scripts.peekDue, words)) as Buffer[]).map(String)
  }

  async claimDue(claim: DueClaim, limit: number): Promise<ClaimedRow[]> {
    const words = [String(limit), String(claim.leaseMs), claim.owner, ...scopesOf(claim)]
    const flat = (await this.shard.run(this.#scripts.claimDue, words)) as Buffer[]
    const rows: ClaimedRow[] = []
    for (let index = 0; index < flat.length; index += 4) {
      const row = rowOf(flat[index]!, flat[index + 1]!)
      const { namespace, kind, key, identity, revision } = row
      rows.push({
        row,
        receipt: { namespace, kind, key, identity, revision, nonce: Number(flat[index + 2]) },
        lostOwner: lostOwnerOf(String(flat[index + 3])),
      })
    }
    return rows
  }

  async nextDue(query: NextDueQuery): Promise<number | undefined> {
    const words = [String(query.withinMs), ...scopesOf(query)]
    const place = await this.shard.run(this.#scripts.nextDue, words)
    return place === null ? undefined : parsePlace(String(place)).position
  }

  async extend(receipts: readonly Receipt[], leaseMs: number): Promise<boolean[]> {
    const packer = new Packer()
    for (const receipt of receipts) {
      packer.textAfterShort(nameText(receipt)).double(receipt.revision).double(receipt.nonce)
    }
    const words = [String(leaseMs), String(receipts.length), packer.done()]
    return flagsOf(await this.shard.run(this.#scripts.extend, words))
  }

  async settle(
    settlements: readonly ClaimSettlement[],
    history: readonly HistoryEntry[],
  ): Promise<boolean[]> {
    const packer = new Packer()
    for (const settlement of settlements) packClaimSettlement(packer, settlement)
    const words = [String(settlements.length), packer.done(), ...historyWords(history)]
    return flagsOf(await this.shard.run(this.#scripts.settleClaimed, words))
  }
}

function scopesOf({ kinds }: { readonly kinds?: readonly KindName[] }): string[] {
  if (kinds === undefined) return ['all']
  return ['some', ...kinds.map(({ namespace, kind }) => `${namespace}\0${kind}`)]
}

/** After a mark, so that an owner without a name is not taken for none. */
function lostOwnerOf(text: string): string | undefined {
  return text === '' ? undefined : text.slice(1)
}

function flagsOf(reply: unknown): boolean[] {
  return Array.from(String(reply), (letter) => letter === '1')
}
