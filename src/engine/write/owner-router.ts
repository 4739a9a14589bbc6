import type { CallLimit } from '../../async/index.js'
import { type CarillonError, StoreError } from '../../error/index.js'
import type { RequestedOperation, ShardRow } from '../../store/index.js'
import { nameKey } from '../../timer/index.js'
import { failed, type SubmitAnswer } from '../answer.js'
import { type InboxClient, isPlainSet } from './inbox-client.js'
import type { PeerMember, Peers } from './peers.js'

type Way = 'directly' | 'by-inbox'

/**
 * Brings operations to the owners of other shards. They go directly if the owner can be reached and its answer is needed,
 * and otherwise through its inbox. A plain `set` always goes through the inbox: if its name is free, it is acknowledged
 * there without the owner, so an owner that has just died costs it no time. Each operation is carried out once: if it may have been done
 * directly, it is never sent again (rule 3).
 *
 * Proven by test/engine/owner-router.test.ts.
 */
export class OwnerRouter {
  readonly #inboxClient: InboxClient
  readonly #peers: Peers | undefined
  readonly #memberOf: (id: string) => PeerMember | undefined
  readonly #newDeadline: (limit: CallLimit | undefined) => number
  readonly #ownerIds = new Map<number, string>()
  // The calls under way for each name: a later call by the other way must not overtake them.
  readonly #underWay = {
    directly: new Map<string, Promise<unknown>>(),
    'by-inbox': new Map<string, Promise<unknown>>(),
  }

  constructor(parts: {
    inboxClient: InboxClient
    peers: Peers | undefined
    /** How to ask a member directly; undefined if it cannot be asked. */
    memberOf: (id: string) => PeerMember | undefined
    /** By the store's clock. */
    newDeadline: (limit: CallLimit | undefined) => number
  }) {
    this.#inboxClient = parts.inboxClient
    this.#peers = parts.peers
    this.#memberOf = parts.memberOf
    this.#newDeadline = parts.newDeadline
  }

  /** A shard row was read from the store. */
  saw({ shard, owner }: ShardRow): void {
    this.#ownerIds.set(shard, owner)
  }

  /** The owner of a shard when it was last read; empty if it had none. */
  ownerId(shard: number): string {
    return this.#ownerIds.get(shard) ?? ''
  }

  async ask(
    shard: number,
    operations: readonly RequestedOperation[],
    limit?: CallLimit,
  ): Promise<readonly SubmitAnswer[]> {
    if (this.#peers === undefined) return await this.#inboxClient.ask(shard, operations, limit)
    const member = operations.some(isPlainSet) ? undefined : this.#ownerOf(shard)
    const ask = (): Promise<readonly SubmitAnswer[]> =>
      member === undefined
        ? this.#inboxClient.ask(shard, operations, limit)
        : this.#askDirectly(member, shard, operations, limit)
    return await this.#inTurn(member === undefined ? 'by-inbox' : 'directly', operations, ask, limit)
  }

  #ownerOf(shard: number): PeerMember | undefined {
    const id = this.#ownerIds.get(shard)
    return id === undefined || id === '' ? undefined : this.#memberOf(id)
  }

  async #askDirectly(
    member: PeerMember,
    shard: number,
    operations: readonly RequestedOperation[],
    limit: CallLimit | undefined,
  ): Promise<readonly SubmitAnswer[]> {
    if (limit?.isOver === true) return operations.map(() => failed(limit.notDone()))
    const asking = this.#peers!.ask(member, { shard, deadline: this.#newDeadline(limit), operations })
    const asked = (await (limit?.orOver(asking) ?? asking)) ?? { outcome: 'unsure' }
    if (asked.outcome === 'not-done') return await this.#inboxClient.ask(shard, operations, limit)
    if (asked.outcome === 'unsure') return operations.map(() => failed(unanswered(shard)))
    return await this.#inboxClient.completeAnswers(shard, operations, asked.answers, limit)
  }

  /**
   * Waits for earlier calls for the same names by the other way. A direct call also waits for direct calls, because
   * messages to an owner may overtake each other. An inbox keeps the order itself.
   */
  async #inTurn<Given>(
    way: Way,
    operations: readonly RequestedOperation[],
    work: () => Promise<Given>,
    limit: CallLimit | undefined,
  ): Promise<Given> {
    const mine = this.#underWay[way]
    const names = operations.map(nameKey)
    const earlier = (of: ReadonlyMap<string, Promise<unknown>>): Promise<unknown>[] =>
      of.size === 0 ? [] : [...new Set(names.flatMap((name) => of.get(name) ?? []))]
    const same = earlier(mine)
    const before =
      way === 'directly'
        ? [...same, ...earlier(this.#underWay['by-inbox'])]
        : earlier(this.#underWay.directly)
    const turn = Promise.allSettled(before)
    const working = before.length === 0 ? work() : (limit?.orOver(turn) ?? turn).then(work)
    // A call by the other way waits for all of them, not only for the last.
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
    `the owner of shard ${shard} was asked and did not answer; it may have carried it out`,
  )
}
