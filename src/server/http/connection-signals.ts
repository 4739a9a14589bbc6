import type { FastifyRequest } from 'fastify'

type Socket = FastifyRequest['raw']['socket']

/** What every call for a request gets. The server's `callTimeoutMs` is its time limit. */
export interface RequestLimits {
  /** Aborted when the client has closed its connection. */
  readonly signal: AbortSignal
}

/**
 * Gives up the calls of clients that have gone. All requests of a connection share one signal, because making one for
 * each request would cost more than the rest of its limit.
 *
 * Proven by test/server/outages/bounded-requests.test.ts.
 */
export class ConnectionSignals {
  readonly #limits = new WeakMap<Socket, RequestLimits>()

  /** The limits of the calls for a request on this connection. */
  limitsOf(socket: Socket): RequestLimits {
    const known = this.#limits.get(socket)
    if (known !== undefined) return known
    const gone = new AbortController()
    const limits = Object.freeze({ signal: gone.signal })
    this.#limits.set(socket, limits)
    const end = (): void => gone.abort(new Error('the client has closed its connection'))
    if (socket.destroyed) end()
    else socket.once('close', end)
    return limits
  }
}
