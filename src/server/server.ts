import type { FastifyInstance } from 'fastify'
import { StateError, StoreError } from '../error/index.js'
import { openTimers, type Timers } from '../front/index.js'
import { openStore, type Store } from '../store/index.js'
import type { Clock, Wake } from '../time/index.js'
import { ApiKeys } from './api-keys.js'
import { docsPage, docsPolicy } from './docs-page.js'
import { Events } from './events.js'
import { tellEvents } from './firing-events.js'
import { Gate } from './gate.js'
import { httpApp } from './http-app.js'
import { Idempotency } from './idempotency.js'
import { Metrics } from './metrics.js'
import { Namespaces } from './namespaces.js'
import { openApiOf } from './openapi.js'
import { Forwarding } from './peers/forwarding.js'
import { LeaseWords } from './peers/lease-words.js'
import { peerAddressOf } from './peers/peer-address.js'
import { Readiness } from './readiness.js'
import type { Route } from './route.js'
import { batchRoutes } from './routes/batch.js'
import { handleRoutes } from './routes/handles.js'
import { leaseRoutes } from './routes/leases.js'
import { recordRoutes } from './routes/records.js'
import { steeringRoutes } from './routes/steering.js'
import { targetRoutes } from './routes/targets.js'
import { timerRoutes } from './routes/timers.js'
import { watchingRoutes } from './routes/watching.js'
import { type CompleteServerOptions, type ServerOptions, serverOptions } from './server-options.js'
import { NamedKinds } from './set-input.js'
import { version } from './version.js'

// How soon keys that another instance made or revoked are known here.
const LOOK_FOR_KEYS_MS = 2000

// How many batches are remembered by their Idempotency-Key: each may have 5,000 answers.
const MOST_BATCHES = 64

// How long requests under way have when the server stops, and how often it looks whether they are done.
const FAREWELL_MS = 10_000
const SWEEP_MS = 20

interface ServerParts {
  readonly options: CompleteServerOptions
  readonly store: Store
  readonly ownsStore: boolean
  readonly timers: Timers
  readonly metrics: Metrics
  /** Undefined where nobody else can have the store open, or it is not wanted. */
  readonly forwarding: Forwarding | undefined
}

/** Timers over HTTP: the store, the engine and the routes, started and stopped as one. */
export class Server {
  readonly #parts: ServerParts
  readonly #keys: ApiKeys
  readonly #app: FastifyInstance
  readonly #namespaces: Namespaces
  readonly #events: Events
  readonly #metrics: Metrics
  readonly #idempotency: Idempotency
  // Apart, so that none of them is forgotten for the others: batches are large, workers answer often.
  readonly #batchIdempotency: Idempotency
  readonly #workerIdempotency: Idempotency
  readonly #readiness: Readiness
  readonly #routes: readonly Route[]
  #underWay = 0
  #looks: Wake | undefined
  #url = ''
  #firstToken: string | undefined
  #stopping: Promise<void> | undefined

  private constructor(parts: ServerParts) {
    const { options, store, timers } = parts
    const { clock } = options
    this.#parts = parts
    this.#metrics = parts.metrics
    this.#keys = new ApiKeys(store, clock)
    this.#events = new Events(clock)
    this.#idempotency = new Idempotency(clock)
    this.#batchIdempotency = new Idempotency(clock, MOST_BATCHES)
    this.#workerIdempotency = new Idempotency(clock)
    this.#readiness = new Readiness(timers, store, clock)
    this.#namespaces = new Namespaces({
      timers,
      store,
      clock,
      lookMs: timers.engine.settings.acquireMs,
      onTrouble: (error) => options.logger?.warn({ err: error }, 'the namespaces could not be looked at'),
    })
    timers.onEvent(tellEvents(this.#events))
    const kinds = new NamedKinds()
    this.#routes = [
      ...onceEach(this.#idempotency, timerRoutes({ kinds, idempotency: this.#idempotency })),
      ...onceEach(this.#idempotency, handleRoutes),
      ...onceEach(this.#batchIdempotency, batchRoutes(kinds)),
      ...onceEach(this.#idempotency, recordRoutes(clock)),
      ...onceEach(this.#idempotency, targetRoutes),
      ...onceEach(this.#workerIdempotency, leaseRoutes(new LeaseWords(parts.forwarding?.peers))),
      ...onceEach(this.#idempotency, steeringRoutes(this.#keys)),
      ...watchingRoutes({
        timers,
        store,
        events: this.#events,
        metrics: this.#metrics,
        openedOf: (namespace) => this.#namespaces.opened(namespace),
      }),
    ]
    this.#app = httpApp({
      options,
      routes: this.#routes,
      gate: new Gate({ keys: this.#keys, clock, needsKey: options.auth, ratePerSecond: options.rate }),
      metrics: this.#metrics,
      timersOf: (namespace) => this.#namespaces.of(namespace),
    })
    this.#addOpenRoutes()
    parts.forwarding?.listen(this.#app, {
      engine: timers.engine,
      timersOf: (namespace) => this.#namespaces.of(namespace),
    })
    const ended = (): void => void this.#underWay--
    this.#app.server.on('request', (_, response) => {
      this.#underWay++
      // It comes once: `once` would make a listener of its own for each.
      response.on('close', ended)
    })
  }

  /** Opens the store, starts to fire, and listens. */
  static async start(given: ServerOptions): Promise<Server> {
    const options = serverOptions(given)
    const { clock, history, engine, guard, tracing, logger } = options
    const ownsStore = typeof options.store === 'string'
    const store =
      typeof options.store === 'string' ? await openStore(options.store, { clock }) : options.store
    const metrics = new Metrics()
    let server: Server | undefined
    try {
      const isForwarding = options.forwarding && store.capabilities.shared
      const forwarding = isForwarding
        ? await Forwarding.over(store, clock, (outcome) => metrics.forwarded(outcome))
        : undefined
      const timers = await openTimers({
        store,
        clock,
        history,
        engine,
        guard,
        ...(forwarding && { peers: forwarding.peers }),
        tracing,
        ...(logger && { logger }),
      })
      server = new Server({ options, store, ownsStore, timers, metrics, forwarding })
      await server.#start()
      return server
    } catch (error) {
      await server?.stop()
      if (ownsStore) await store.stop()
      throw error
    }
  }

  /**
   * Opens a store that no other instance has open, and answers by `answer` alone: nothing fires, nobody can connect,
   * and no key is asked for.
   */
  static async open(given: Pick<ServerOptions, 'store' | 'clock'>): Promise<Server> {
    const options = serverOptions({ ...given, auth: false, rate: 0 })
    const { clock, history } = options
    const ownsStore = typeof options.store === 'string'
    const store =
      typeof options.store === 'string' ? await openStore(options.store, { clock }) : options.store
    try {
      await checkUnused(store)
      const alone = store.strategy === 'owned'
      const timers = await openTimers({ store, clock, history, alone })
      const metrics = new Metrics()
      return new Server({ options, store, ownsStore, timers, metrics, forwarding: undefined })
    } catch (error) {
      if (ownsStore) await store.stop()
      throw error
    }
  }

  /** Answers a request of this process, as it would one that came over the network. */
  async answer(path: string, { method = 'GET', headers, body }: RequestInit = {}): Promise<Response> {
    const { statusCode, payload } = await this.#app.inject({
      method: method as 'GET',
      url: path,
      headers: Object.fromEntries(new Headers(headers)),
      ...(typeof body === 'string' && { payload: body }),
    })
    return new Response(payload, { status: statusCode })
  }

  /** Where it listens: the base of all routes. */
  get url(): string {
    return this.#url
  }

  /** The key that was made because there was none; undefined otherwise. Show it once. */
  get firstToken(): string | undefined {
    return this.#firstToken
  }

  get keys(): ApiKeys {
    return this.#keys
  }

  /** The OpenAPI document. */
  get openApi(): Record<string, unknown> {
    return openApiOf(this.#routes, version)
  }

  /** Every route that needs a key. */
  get routes(): readonly Route[] {
    return this.#routes
  }

  /** Takes no more requests, answers those under way, lets attempts end, lets go of its shards. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #start(): Promise<void> {
    const { timers, options, forwarding } = this.#parts
    await this.#keys.look()
    if (options.auth && !this.#keys.hasAlive) {
      this.#firstToken = (await this.#keys.create({ name: 'first', scope: 'admin' })).token
    }
    await this.#namespaces.start()
    await this.#greetNewcomers()
    await timers.start()
    this.#url = await listening(this.#app, options)
    if (forwarding !== undefined)
      forwarding.peers.address = options.address ?? peerAddressOf(this.#url, options.host)
    this.#lookForKeys(options.clock)
  }

  async #stop(): Promise<void> {
    const { timers, store, ownsStore, forwarding } = this.#parts
    this.#readiness.stop()
    this.#looks?.cancel()
    this.#events.stop()
    this.#namespaces.stop()
    await this.#closeConnections()
    this.#idempotency.stop()
    this.#batchIdempotency.stop()
    this.#workerIdempotency.stop()
    this.#metrics.stop()
    await timers.stop()
    await forwarding?.peers.stop()
    if (ownsStore) await store.stop()
  }

  /** On a store that nobody has used, timers of the kind `hello` go to the log: that is how it is tried out. */
  async #greetNewcomers(): Promise<void> {
    const { timers } = this.#parts
    const isNew = (await timers.kinds()).length === 0 && (await timers.listTargets()).length === 0
    if (isNew) await timers.setTarget('hello', { type: 'log' })
  }

  /** Requests under way are answered; who takes longer than that is cut off. */
  async #closeConnections(): Promise<void> {
    const { clock } = this.#parts.options
    const until = clock.monotonic() + FAREWELL_MS
    let wake: Wake | undefined
    const sweep = (): void => {
      // A connection on which nobody has asked anything yet is not idle to Node: it would be waited for.
      if (this.#underWay === 0 || clock.monotonic() >= until) this.#app.server.closeAllConnections()
      else this.#app.server.closeIdleConnections()
      wake = clock.wakeAfter(SWEEP_MS, sweep)
    }
    const closing = this.#app.close()
    sweep()
    await closing
    wake?.cancel()
  }

  #lookForKeys(clock: Clock): void {
    const look = async (): Promise<void> => {
      try {
        await this.#keys.look()
      } catch (error) {
        this.#parts.options.logger?.warn({ err: error }, 'the keys could not be looked at')
      }
      if (this.#stopping === undefined) this.#lookForKeys(clock)
    }
    this.#looks = clock.wakeAfter(LOOK_FOR_KEYS_MS, () => void look(), { keepAlive: false })
  }

  /** What needs no key: it tells nothing of any timer. */
  #addOpenRoutes(): void {
    const openApi = JSON.stringify(this.openApi)
    const page = docsPage(this.#routes, version)
    this.#app.get('/healthz', () => ({ status: 'alive' }))
    this.#app.get('/readyz', async (_request, reply) => {
      const faults = await this.#readiness.faults()
      if (faults.length > 0) reply.code(503)
      return faults.length === 0 ? { status: 'ready' } : { status: 'not ready', faults }
    })
    this.#app.get('/v1/openapi.json', (_request, reply) => reply.type('application/json').send(openApi))
    this.#app.get('/docs', (_request, reply) =>
      reply
        .type('text/html; charset=utf-8')
        .header('content-security-policy', docsPolicy)
        .header('referrer-policy', 'no-referrer')
        .send(page),
    )
  }
}

async function listening(app: FastifyInstance, { host, port }: CompleteServerOptions): Promise<string> {
  try {
    return await app.listen({ host, port })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE') {
      throw new StateError(
        'port-busy',
        `something listens on ${host}:${port} already: choose another --port`,
        {
          cause: error,
        },
      )
    }
    throw error
  }
}

/** Refuses a store whose shards an instance owns: its calls belong to that one. */
async function checkUnused(store: Store): Promise<void> {
  if (store.strategy !== 'owned') return
  const now = await store.now()
  const owned = (await store.shards()).filter(({ owner, leaseUntil }) => owner !== '' && leaseUntil > now)
  if (owned.length === 0) return
  const owners = new Set(owned.map(({ owner }) => owner))
  const left = Math.max(...owned.map(({ leaseUntil }) => leaseUntil)) - now
  throw new StoreError(
    'store-in-use',
    `this ${store.name} store is in use by ${[...owners].join(', ')}: ask a server of it with --url, or stop them and wait until their leases are over (${Math.ceil(left / 1000)} s)`,
  )
}

// Their answers are not to be kept: they carry a key's text, or payloads.
const forgottenPaths: ReadonlySet<string> = new Set(['/v1/keys', '/v1/leases'])

/** Has each route that changes something do it once for an Idempotency-Key, unless it sees to that itself. */
function onceEach(idempotency: Idempotency, routes: readonly Route[]): readonly Route[] {
  return routes.map((route) => {
    const isItsOwn = route.headers?.includes('idempotency-key') === true
    const isFree = route.scope === 'read' || isItsOwn || forgottenPaths.has(route.path)
    return isFree ? route : idempotency.guarding(route)
  })
}
