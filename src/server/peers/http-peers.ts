import { randomUUID } from 'node:crypto'
import { Agent, request } from 'undici'
import type { PeerAnswer, PeerAsk, PeerMember, Peers } from '../../engine/index.js'
import type { Clock } from '../../time/index.js'
import type { ClusterSecret } from './cluster-secret.js'
import {
  decodeAnswer,
  operationsAskOf,
  PASS,
  passOf,
  PEER_PATH,
  PEER_TYPE,
  type PeerMessage,
  type PeerReply,
  SIGNATURE,
} from './peer-message.js'
import { PeerPatience } from './peer-patience.js'

const CONNECTIONS = 16
// Less than an instance keeps an idle connection open for, so that none is used that is being closed.
const KEEP_ALIVE_MS = 30_000
const LONGEST_ANSWER_BYTES = 16 * 1024 * 1024

/** What became of a message. */
export type Delivered =
  | { readonly outcome: 'answered'; readonly reply: PeerReply }
  | { readonly outcome: 'not-done' }
  | { readonly outcome: 'unsure' }

export interface HttpPeersParts {
  readonly secret: ClusterSecret
  readonly clock: Clock
  /** How long an answer is waited for. */
  readonly timeoutMs: number
  readonly onAsked: (outcome: Delivered['outcome']) => void
}

/**
 * Asks other instances over connections that are kept open. A message is sent once: what was not sent, or was refused
 * without a signed answer, was not done; what was sent and not answered, or failed on its way, may have been. A member
 * that leaves a message unanswered for a second is spared until it answers again.
 */
export class HttpPeers implements Peers {
  /** Where this instance listens, once it does. */
  address: string | undefined
  readonly #parts: HttpPeersParts
  readonly #agent = new Agent({
    connections: CONNECTIONS,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connect: { timeout: 2000 },
    maxResponseSize: LONGEST_ANSWER_BYTES,
  })
  readonly #patience: PeerPatience

  constructor(parts: HttpPeersParts) {
    this.#parts = parts
    this.#patience = new PeerPatience(parts.clock)
  }

  async ask(member: PeerMember, ask: PeerAsk): Promise<PeerAnswer> {
    const delivered = await this.deliver(member, ask.deadline, operationsAskOf(ask))
    if (delivered.outcome !== 'answered') return delivered
    const { answers } = delivered.reply
    if (answers === undefined) return { outcome: 'not-done' }
    if (answers.length !== ask.operations.length) return { outcome: 'unsure' }
    return { outcome: 'answered', answers: answers.map(decodeAnswer) }
  }

  /** Sends a message to a member. Never rejects. */
  async deliver(member: PeerMember, deadline: number, ask: PeerMessage['ask']): Promise<Delivered> {
    if (!this.#patience.mayAsk(member.id)) return { outcome: 'not-done' }
    const asked = this.#patience.asked(member.id)
    const message = { to: member.id, id: randomUUID(), deadline, ask }
    try {
      const delivered = await this.#send(member, message)
      asked.ended(true)
      this.#parts.onAsked(delivered.outcome)
      return delivered
    } catch (error) {
      // Also one that cannot be reached is spared: a connection that does not come about takes its time.
      asked.ended(false)
      const outcome = wasNeverSent(error) ? 'not-done' : 'unsure'
      this.#parts.onAsked(outcome)
      return { outcome }
    }
  }

  async stop(): Promise<void> {
    this.address = undefined
    await this.#agent.destroy()
  }

  /** Rejects where no answer came. */
  async #send({ address }: PeerMember, message: PeerMessage): Promise<Delivered> {
    const { secret, clock, timeoutMs } = this.#parts
    const body = JSON.stringify(message)
    // From now on, not from when a connection is free: many that wait for one would wait one after the other.
    const over = new AbortController()
    const wake = clock.wakeAfter(timeoutMs, () => over.abort())
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
        signal: over.signal,
      })
      const text = await answer.body.text()
      // Whoever has not signed is not the one that was asked, or did not listen to it; or it stands between and has
      // passed on what it did not bring the answer to.
      if (!secret.isSigned('answer', text, answer.headers[SIGNATURE]))
        return { outcome: mayHavePassedOn(answer.statusCode) ? 'unsure' : 'not-done' }
      const reply = JSON.parse(text) as PeerReply
      if (reply.id !== message.id) return { outcome: 'not-done' }
      return reply.isRepeated === true ? { outcome: 'unsure' } : { outcome: 'answered', reply }
    } finally {
      wake.cancel()
    }
  }
}

/** Whether a refusal may be that of a proxy which got no answer: some say 503 also where they had passed it on. */
function mayHavePassedOn(status: number): boolean {
  return status >= 500
}

/**
 * Whether there was not even a connection to send it by. The code alone does not tell: a connection that loses its way
 * breaks with the same one as a connection that never came about.
 */
function wasNeverSent(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException
  const isOfConnecting = syscall === 'connect' || syscall === 'getaddrinfo'
  // Where a name has several addresses, all of them were tried in vain.
  return isOfConnecting || error instanceof AggregateError || code === 'UND_ERR_CONNECT_TIMEOUT'
}
