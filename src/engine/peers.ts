import type { RequestedOperation } from '../store/index.js'
import type { Answer } from './answer.js'

/**
 * A way to the other instances of a store that is quicker than their inboxes. The engine itself knows no network:
 * whoever has one brings it, and without it everything goes by the inbox.
 */
export interface Peers {
  /** Where this instance can be asked that way; undefined while it cannot. It goes out with every heartbeat. */
  readonly address: string | undefined
  /** Asks a member to carry out operations on a shard that it seems to own. Never rejects. */
  ask(member: PeerMember, ask: PeerAsk): Promise<PeerAnswer>
}

/** An instance that can be asked directly. */
export interface PeerMember {
  readonly id: string
  readonly address: string
}

export interface PeerAsk {
  readonly shard: number
  /** By the store's clock. It is begun before that, or never. */
  readonly deadline: number
  readonly operations: readonly RequestedOperation[]
}

export type PeerAnswer =
  | { readonly outcome: 'answered'; readonly answers: readonly Answer[] }
  /** It was not reached, or does not own the shard: nothing was done there, and nothing will be. */
  | { readonly outcome: 'not-done' }
  /** It may have been done. */
  | { readonly outcome: 'unsure' }
