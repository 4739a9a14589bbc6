import type { FastifyInstance } from 'fastify'
import { RequestError } from '../../error/index.js'
import type { Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { ClusterSecret } from './cluster-secret.js'
import { type Delivered, HttpPeers } from './http-peers.js'
import { PeerDesk, type PeerDeskParts } from './peer-desk.js'
import { PASS, PEER_PATH, PEER_TYPE, SIGNATURE } from './peer-message.js'

const LONGEST_ASK_BYTES = 16 * 1024 * 1024
const TIMEOUT_MS = 10_000

/** Both ends of what the instances of a store ask each other: the way to others, and the desk where they ask. */
export class Forwarding {
  readonly peers: HttpPeers
  readonly #secret: ClusterSecret

  private constructor(secret: ClusterSecret, peers: HttpPeers) {
    this.#secret = secret
    this.peers = peers
  }

  static async over(
    store: Store,
    clock: Clock,
    onAsked: (outcome: Delivered['outcome']) => void,
  ): Promise<Forwarding> {
    const secret = await ClusterSecret.of(store)
    return new Forwarding(secret, new HttpPeers({ secret, clock, timeoutMs: TIMEOUT_MS, onAsked }))
  }

  /** Adds the route by which other instances ask this one. It takes no key: what is not signed is not heard. */
  listen(app: FastifyInstance, parts: Omit<PeerDeskParts, 'secret'>): void {
    const desk = new PeerDesk({ secret: this.#secret, ...parts })
    app.addContentTypeParser(
      PEER_TYPE,
      { parseAs: 'string', bodyLimit: LONGEST_ASK_BYTES },
      (_, text, done) => done(null, text),
    )
    app.post(
      PEER_PATH,
      {
        bodyLimit: LONGEST_ASK_BYTES,
        config: { name: `POST ${PEER_PATH}` },
        onRequest: (request, _reply, done) =>
          done(desk.admits(request.headers[PASS]) ? undefined : refusal()),
      },
      async (request, reply) => {
        const isText = typeof request.body === 'string'
        const given = isText ? await desk.answer(String(request.body), request.headers[SIGNATURE]) : undefined
        if (given === undefined) throw refusal()
        return reply.type(PEER_TYPE).header(SIGNATURE, given.signature).send(given.text)
      },
    )
  }
}

function refusal(): RequestError {
  return new RequestError('unauthorized', 'only instances of the same store are heard here')
}
