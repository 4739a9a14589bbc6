import { type CarillonError, StoreError } from '../error/index.js'
import type { RequestedOperation, ShardRow } from '../store/index.js'
import { nameText } from '../timer/index.js'
import { failed, type SubmitAnswer } from './answer.js'
import { type Asker, isAcknowledgedAtOnce } from './asker.js'
import type { PeerMember, Peers } from './peers.js'

type Way = 'directly' | 'by-inbox'

/**
 * Has operations carried out by the owners of other shards: directly where there is a way to the owner and its answer
 * is needed, else by its inbox. A plain `set` always goes by the inbox: it is acknowledged there without the owner, so
 * that an owner that has just died or sleeps costs it nothing. Each is carried out once: what may have been done
 * directly is never sent again.
 */
export class Owners {
  readonly #asker: Asker
  readonly #peers: Peers | undefined
  readonly #memberOf: (id: string) => PeerMember | undefined
  readonly #newDeadline: () => number
  readonly #ownerIds = new Map<number, string>()
  // What is under way of each name: what comes after it by the other way must not overtake it.
  readonly #underWay = {
    directly: new Map<string, Promise<unknown>>(),
    'by-inbox': new Map<string, Promise<unknown>>(),
  }

  constructor(parts: {
    asker: Asker
    peers: Peers | undefined
    /** How to ask a member; undefined where it cannot be asked. */
    memberOf: (id: string) => PeerMember | undefined
    /** By the store's clock. */
    newDeadline: () => number
  }) {
    this.#asker = parts.asker
    this.#peers = parts.peers
    this.#memberOf = parts.memberOf
    this.#newDeadline = parts.newDeadline
  }

  /** A shard as it was in the store. */
  saw({ shard, owner }: ShardRow): void {
    this.#ownerIds.set(shard, owner)
  }

  async ask(shard: number, operations: readonly RequestedOperation[]): Promise<readonly SubmitAnswer[]> {
    if (this.#peers === undefined) return await this.#asker.ask(shard, operations)
    const member = operations.some(isAcknowledgedAtOnce) ? undefined : this.#ownerOf(shard)
    if (member === undefined)
      return await this.#inTurn('by-inbox', operations, () => this.#asker.ask(shard, operations))
    return await this.#inTurn('directly', operations, () => this.#askDirectly(member, shard, operations))
  }

  #ownerOf(shard: number): PeerMember | undefined {
    const id = this.#ownerIds.get(shard)
    return id === undefined || id === '' ? undefined : this.#memberOf(id)
  }

  async #askDirectly(
    member: PeerMember,
    shard: number,
    operations: readonly RequestedOperation[],
  ): Promise<readonly SubmitAnswer[]> {
    const asked = await this.#peers!.ask(member, { shard, deadline: this.#newDeadline(), operations })
    if (asked.outcome === 'not-done') return await this.#asker.ask(shard, operations)
    if (asked.outcome === 'unsure') return operations.map(() => failed(unanswered(shard)))
    return await this.#asker.goOn(shard, operations, asked.answers)
  }

  /**
   * After what went the other way for the same names, and directly also after what went directly: messages to an owner
   * may overtake each other. An inbox keeps their order itself.
   */
  async #inTurn<Given>(
    way: Way,
    operations: readonly RequestedOperation[],
    work: () => Promise<Given>,
  ): Promise<Given> {
    const mine = this.#underWay[way]
    const names = operations.map(nameText)
    const earlier = (of: ReadonlyMap<string, Promise<unknown>>): Promise<unknown>[] =>
      of.size === 0 ? [] : [...new Set(names.flatMap((name) => of.get(name) ?? []))]
    const same = earlier(mine)
    const before =
      way === 'directly'
        ? [...same, ...earlier(this.#underWay['by-inbox'])]
        : earlier(this.#underWay.directly)
    const working = before.length === 0 ? work() : Promise.allSettled(before).then(work)
    // Whoever comes by the other way waits for all of them, not for the last alone.
    const over = Promise.allSettled([...same, working]).finally(() => {
      for (const name of names) if (mine.get(name) === over) mine.delete(name)
    })
    for (const name of names) mine.set(name, over)
    return await working
  }
}

function unanswered(shard: number): CarillonError {
  return new StoreError(
    'owner-unreachable',
    `the owner of shard ${shard} was asked and did not answer; it may have done it`,
  )
}
