import type { RequestedOperation } from '../../store/index.js'
import type { Answer } from '../answer.js'

/**
 * A direct way to the other instances of a store, faster than their inboxes. The engine has no network of its own: its
 * user passes one in. Without it everything goes through the inbox.
 */
export interface Peers {
  /** Where this instance can be asked directly; undefined while it cannot. Every heartbeat carries it. */
  readonly address: string | undefined
  /** Asks the presumed owner of a shard to carry out operations. Never rejects. */
  ask(member: PeerMember, request: PeerRequest): Promise<PeerAnswer>
}

/** An instance that can be asked directly. */
export interface PeerMember {
  readonly id: string
  readonly address: string
}

/** What one instance asks of another: operations on a shard that it owns. */
export interface PeerRequest {
  readonly shard: number
  /** By the store's clock. The owner begins before that, or never. */
  readonly deadline: number
  readonly operations: readonly RequestedOperation[]
}

/** How another instance answered. */
export type PeerAnswer =
  | { readonly outcome: 'answered'; readonly answers: readonly Answer[] }
  /** The member was not reached, or does not own the shard: nothing was done there, and nothing will be. */
  | { readonly outcome: 'not-done' }
  /** The operations may have been carried out. */
  | { readonly outcome: 'unsure' }
