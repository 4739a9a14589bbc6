import type { FastifyInstance } from 'fastify'
import { RequestError } from '../../error/index.js'
import type { Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { ClusterSecret } from './cluster-secret.js'
import { type MessageResult, HttpPeers } from './http-peers.js'
import { PeerEndpoint, type PeerEndpointParts } from './peer-endpoint.js'
import { MAX_PEER_MESSAGE_BYTES, PEER_TIMEOUT_MS } from '../defaults.js'
import { PASS, PEER_PATH, PEER_TYPE, SIGNATURE } from './peer-message.js'

/**
 * Both ends of the messages between the instances of a store: the client that sends them and the route that answers.
 *
 * Proven by test/server/forwarding.test.ts.
 */
export class Forwarding {
  readonly peers: HttpPeers
  readonly #secret: ClusterSecret

  private constructor(secret: ClusterSecret, peers: HttpPeers) {
    this.#secret = secret
    this.peers = peers
  }

  static async create(
    store: Store,
    clock: Clock,
    onResult: (outcome: MessageResult['outcome']) => void,
  ): Promise<Forwarding> {
    const secret = await ClusterSecret.of(store)
    return new Forwarding(secret, new HttpPeers({ secret, clock, timeoutMs: PEER_TIMEOUT_MS, onResult }))
  }

  /** Adds the route for messages from other instances. It needs no API key: it accepts only signed messages. */
  listen(app: FastifyInstance, parts: Omit<PeerEndpointParts, 'secret'>): void {
    const endpoint = new PeerEndpoint({ secret: this.#secret, ...parts })
    app.addContentTypeParser(
      PEER_TYPE,
      { parseAs: 'string', bodyLimit: MAX_PEER_MESSAGE_BYTES },
      (_, text, done) => done(null, text),
    )
    app.post(
      PEER_PATH,
      {
        bodyLimit: MAX_PEER_MESSAGE_BYTES,
        config: { name: `POST ${PEER_PATH}` },
        onRequest: (request, _reply, done) =>
          done(endpoint.admits(request.headers[PASS]) ? undefined : refusal()),
      },
      async (request, reply) => {
        const { body, headers } = request
        const signed = typeof body === 'string' ? await endpoint.answer(body, headers[SIGNATURE]) : undefined
        if (signed === undefined) throw refusal()
        return reply.type(PEER_TYPE).header(SIGNATURE, signed.signature).send(signed.text)
      },
    )
  }
}

function refusal(): RequestError {
  return new RequestError('unauthorized', 'this route is only for instances of the same store')
}
