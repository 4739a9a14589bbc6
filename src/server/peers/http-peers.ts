import { randomUUID } from 'node:crypto'
import { Agent, request } from 'undici'
import type { PeerAnswer, PeerRequest, PeerMember, Peers } from '../../engine/index.js'
import type { Clock } from '../../time/index.js'
import type { ClusterSecret } from './cluster-secret.js'
import {
  decodeAnswer,
  operationsRequestOf,
  PASS,
  passOf,
  PEER_PATH,
  PEER_TYPE,
  type PeerMessage,
  type PeerReply,
  SIGNATURE,
} from './peer-message.js'
import { PeerHealth } from './peer-health.js'
import {
  MAX_PEER_MESSAGE_BYTES,
  PEER_CONNECT_TIMEOUT_MS,
  PEER_CONNECTIONS,
  PEER_KEEP_ALIVE_MS,
} from '../defaults.js'

export type MessageResult =
  | { readonly outcome: 'answered'; readonly reply: PeerReply }
  /** The other instance did not get the message, or refused it. */
  | { readonly outcome: 'not-done' }
  /** The other instance may have got the message and acted on it. */
  | { readonly outcome: 'unsure' }

export interface HttpPeersParts {
  readonly secret: ClusterSecret
  readonly clock: Clock
  /** How long to wait for an answer. */
  readonly timeoutMs: number
  readonly onResult: (outcome: MessageResult['outcome']) => void
}

/**
 * Sends messages to other instances over connections that stay open. A message is never sent twice:
 *
 * - without a connection, or with an unsigned refusal below 500, the outcome is 'not-done';
 * - without an answer, or with an unsigned 5xx (it may be a proxy's), the outcome is 'unsure'.
 *
 * A member that leaves a message unanswered for a second gets no more until it answers.
 *
 * Proven by test/server/forwarding.test.ts.
 */
export class HttpPeers implements Peers {
  #address: string | undefined
  readonly #parts: HttpPeersParts
  readonly #agent = new Agent({
    connections: PEER_CONNECTIONS,
    pipelining: 1,
    keepAliveTimeout: PEER_KEEP_ALIVE_MS,
    connect: { timeout: PEER_CONNECT_TIMEOUT_MS },
    maxResponseSize: MAX_PEER_MESSAGE_BYTES,
  })
  readonly #health: PeerHealth

  constructor(parts: HttpPeersParts) {
    this.#parts = parts
    this.#health = new PeerHealth(parts.clock)
  }

  /** Where other instances reach this one. Undefined until the server listens. */
  get address(): string | undefined {
    return this.#address
  }

  /** Sets the address that goes out with the next heartbeat. */
  announce(address: string | undefined): void {
    this.#address = address
  }

  async ask(member: PeerMember, asked: PeerRequest): Promise<PeerAnswer> {
    const result = await this.send(member, asked.deadline, operationsRequestOf(asked))
    if (result.outcome !== 'answered') return result
    const { answers } = result.reply
    if (answers === undefined) return { outcome: 'not-done' }
    if (answers.length !== asked.operations.length) return { outcome: 'unsure' }
    return { outcome: 'answered', answers: answers.map(decodeAnswer) }
  }

  /** Sends a message to a member. Never rejects. */
  async send(member: PeerMember, deadline: number, ask: PeerMessage['ask']): Promise<MessageResult> {
    if (!this.#health.mayAsk(member.id)) return { outcome: 'not-done' }
    const pending = this.#health.messageSent(member.id)
    const message = { to: member.id, id: randomUUID(), deadline, ask }
    try {
      const result = await this.#post(member, message)
      pending.ended(true)
      this.#parts.onResult(result.outcome)
      return result
    } catch (error) {
      // This includes members that cannot be reached: a failing connection takes time, too.
      pending.ended(false)
      const outcome = wasNeverSent(error) ? 'not-done' : 'unsure'
      this.#parts.onResult(outcome)
      return { outcome }
    }
  }

  async stop(): Promise<void> {
    this.#address = undefined
    await this.#agent.destroy()
  }

  /** Rejects if no answer arrives. */
  async #post({ address }: PeerMember, message: PeerMessage): Promise<MessageResult> {
    const { secret, clock, timeoutMs } = this.#parts
    const body = JSON.stringify(message)
    // The timeout starts now, not when a connection is free. Otherwise queued messages would wait one after the other.
    const timeout = new AbortController()
    const wake = clock.wakeAfter(timeoutMs, () => timeout.abort())
    try {
      const answer = await request(address + PEER_PATH, {
        dispatcher: this.#agent,
        method: 'POST',
        headers: {
          'content-type': PEER_TYPE,
          [PASS]: passOf(secret, message.to, message.deadline),
          [SIGNATURE]: secret.signatureOf('ask', body),
        },
        body,
        signal: timeout.signal,
      })
      const text = await answer.body.text()
      // An unsigned answer comes from another server, from a member that refused the message, or from a proxy.
      // A proxy may have passed the message on and lost the answer.
      if (!secret.isSigned('answer', text, answer.headers[SIGNATURE]))
        return { outcome: mayBeFromProxy(answer.statusCode) ? 'unsure' : 'not-done' }
      const reply = JSON.parse(text) as PeerReply
      if (reply.id !== message.id) return { outcome: 'not-done' }
      return reply.isRepeated === true ? { outcome: 'unsure' } : { outcome: 'answered', reply }
    } finally {
      wake.cancel()
    }
  }
}

/** Whether a proxy that got no answer from the instance may have sent this status. Some send 503 even after they passed a message on. */
function mayBeFromProxy(status: number): boolean {
  return status >= 500
}

/**
 * Whether the connection itself failed, so that nothing was sent. The error code alone does not show it: an established
 * connection can break with the same code as one that was never made.
 */
function wasNeverSent(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException
  const isConnectError = syscall === 'connect' || syscall === 'getaddrinfo'
  // An AggregateError means that the name has several addresses, and that all of them failed.
  return isConnectError || error instanceof AggregateError || code === 'UND_ERR_CONNECT_TIMEOUT'
}
