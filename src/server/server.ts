import type { FastifyInstance } from 'fastify'
import { StateError, StoreError } from '../error/index.js'
import { openTimers, type Timers } from '../front/index.js'
import { openStore, type Store } from '../store/index.js'
import type { Clock, Wake } from '../time/index.js'
import { type ApiKey, ApiKeys } from './api-keys.js'
import { AuditLog } from './audit/audit-log.js'
import { audited } from './audit/audited.js'
import { docsPage, docsPolicy } from './http/document/docs-page.js'
import { EventStreams } from './monitor/event-streams.js'
import { eventPublisher } from './monitor/publish-events.js'
import { AccessCheck } from './http/access.js'
import { httpApp } from './http/http-app.js'
import { Idempotency } from './http/idempotency/idempotency.js'
import { addHandlerModules } from './handler-modules.js'
import { Maintenance, type MaintenanceJob } from './maintenance.js'
import { KeyWatch } from './key-watch.js'
import { Metrics } from './monitor/metrics.js'
import { Namespaces } from './namespaces.js'
import { openApiOf } from './http/document/openapi.js'
import { Forwarding } from './peers/forwarding.js'
import { LeaseFinder } from './peers/lease-finder.js'
import { LeaseRouter } from './peers/lease-router.js'
import { LeaseTaker } from './peers/lease-taker.js'
import { Mount } from './page/mount.js'
import { servePage } from './page/serve-page.js'
import { addSignIn } from './page/sign-in-route.js'
import { SignInLinks } from './page/sign-in-links.js'
import { peerAddressOf } from './peers/peer-address.js'
import { StoreGauges } from './monitor/store-gauges.js'
import { ServerLog } from './monitor/server-log.js'
import { Readiness } from './monitor/readiness.js'
import type { Route } from './http/route.js'
import { auditRoutes } from './routes/audit.js'
import { batchRoutes } from './routes/batch.js'
import { bulkRoutes } from './routes/bulk.js'
import { handleRoutes } from './routes/handles.js'
import { leaseBatchRoutes } from './routes/lease-batch.js'
import { clusterRoutes } from './routes/cluster.js'
import { jobRoutes } from './routes/jobs.js'
import { Jobs } from './jobs/jobs.js'
import { leaseRoutes } from './routes/leases.js'
import { recordRoutes } from './routes/records.js'
import { adminRoutes } from './routes/admin.js'
import { targetRoutes } from './routes/targets.js'
import { timerListRoutes } from './routes/timer-lists.js'
import { timerRoutes } from './routes/timers.js'
import { whoAmIRoutes } from './routes/whoami.js'
import { maintenanceRoutes } from './routes/maintenance.js'
import { monitoringRoutes } from './routes/monitoring.js'
import { type CompleteServerOptions, type ServerOptions, serverOptions } from './server-options.js'
import { NamedKinds } from './http/set-input.js'
import {
  KEY_REFRESH_MS,
  MAX_KEPT_BATCHES,
  MAX_KEPT_LEASE_BATCHES,
  STOP_POLL_MS,
  STOP_TIMEOUT_MS,
} from './defaults.js'
import { version } from './version.js'
import { ServerViews } from './views/server-views.js'

interface ServerParts {
  readonly options: CompleteServerOptions
  readonly store: Store
  readonly ownsStore: boolean
  readonly timers: Timers
  readonly metrics: Metrics
  /** Undefined if no other instance can have the store open, or if forwarding is off. */
  readonly forwarding: Forwarding | undefined
}

/**
 * Timers over HTTP: starts and stops the store, the engine and the routes together.
 *
 * Proven by test/server/stores.test.ts and test/cli/serve.test.ts.
 */
export class Server {
  readonly #parts: ServerParts
  readonly #keys: ApiKeys
  readonly #app: FastifyInstance
  readonly #namespaces: Namespaces
  readonly #events: EventStreams
  readonly #signInLinks: SignInLinks
  readonly #keyWatch: KeyWatch
  readonly #mount: Mount
  readonly #metrics: Metrics
  readonly #log: ServerLog
  readonly #idempotency: Idempotency
  // Separate caches, so that large batches and frequent workers cannot evict other answers.
  readonly #batchIdempotency: Idempotency
  readonly #workerIdempotency: Idempotency
  readonly #leaseBatchIdempotency: Idempotency
  readonly #readiness: Readiness
  readonly #leaseTaker: LeaseTaker | undefined
  readonly #maintenance: Maintenance
  readonly #views: ServerViews
  readonly #jobs: Jobs
  readonly #routes: readonly Route[]
  #openRequests = 0
  #isStarting = false
  #keyRefresh: Wake | undefined
  #url = ''
  #firstToken: string | undefined
  #stopping: Promise<void> | undefined

  private constructor(parts: ServerParts) {
    const { options, store, timers } = parts
    const { clock } = options
    this.#parts = parts
    this.#metrics = parts.metrics
    this.#log = new ServerLog(options.logger, clock)
    this.#keys = new ApiKeys(store, clock)
    this.#signInLinks = new SignInLinks(this.#keys, clock)
    this.#events = new EventStreams(clock)
    // Users whom the program has authenticated have no key that could be revoked.
    const isKeyActive = (key: ApiKey): boolean =>
      !options.auth || key.id.startsWith('user ') || this.#keys.isActive(key)
    this.#keyWatch = new KeyWatch(isKeyActive)
    this.#idempotency = new Idempotency(clock)
    this.#batchIdempotency = new Idempotency(clock, MAX_KEPT_BATCHES)
    this.#workerIdempotency = new Idempotency(clock)
    this.#leaseBatchIdempotency = new Idempotency(clock, MAX_KEPT_LEASE_BATCHES)
    this.#readiness = new Readiness(timers, store, clock)
    this.#namespaces = new Namespaces({
      timers,
      store,
      clock,
      refreshMs: timers.engine.settings.acquireMs,
      onError: (error) => this.#log.warn(error, 'cannot read the namespaces from the store'),
    })
    timers.onEvent(eventPublisher(this.#events))
    this.#maintenance = new Maintenance({
      store,
      clock,
      backupFolder: options.backupFolder,
      onEnd: (job, error) => this.#logJob(job, error),
    })
    const audit = new AuditLog(store, clock)
    const kept = (routes: readonly Route[]): readonly Route[] =>
      withIdempotency(
        this.#idempotency,
        audited(audit, routes, (error) =>
          options.logger?.error({ err: error }, 'a change was made, but the audit log could not keep it'),
        ),
      )
    this.#jobs = new Jobs(
      clock,
      () => timers.engine.memberId,
      (job, error) => this.#log.job(job, error),
    )
    this.#views = new ServerViews({
      jobs: this.#jobs,
      readiness: this.#readiness,
      timers,
      store,
      clock,
      namespaces: this.#namespaces,
      peers: parts.forwarding?.peers,
    })
    const kinds = new NamedKinds()
    const leaseRouter = new LeaseRouter(parts.forwarding?.peers)
    const leaseFinder = new LeaseFinder(parts.forwarding?.peers, leaseRouter, clock)
    this.#routes = [
      ...withIdempotency(this.#idempotency, timerRoutes({ kinds, idempotency: this.#idempotency })),
      ...timerListRoutes,
      ...withIdempotency(this.#idempotency, handleRoutes),
      ...withIdempotency(this.#batchIdempotency, batchRoutes(kinds, clock, this.#keyWatch)),
      ...kept(bulkRoutes),
      ...kept(recordRoutes(clock)),
      ...kept(targetRoutes),
      ...withIdempotency(this.#workerIdempotency, leaseRoutes(leaseRouter, leaseFinder, this.#keyWatch)),
      ...withIdempotency(this.#leaseBatchIdempotency, leaseBatchRoutes(leaseRouter)),
      ...whoAmIRoutes({ timers, store, needsKey: options.auth }),
      ...kept(adminRoutes(this.#keys)),
      ...kept(maintenanceRoutes(this.#maintenance)),
      ...this.#views.routes,
      ...clusterRoutes(timers, store, this.#views.cluster),
      ...kept(jobRoutes(this.#jobs, this.#views.cluster)),
      ...auditRoutes(audit),
      ...monitoringRoutes({
        timers,
        store,
        events: this.#events,
        metrics: this.#metrics,
        storeGauges: new StoreGauges(timers, store, clock),
        deliveries: () =>
          Array.from(this.#namespaces.open(), ([namespace, open]) => [namespace, open.deliveries] as const),
        readiness: this.#readiness,
        namespaces: () => this.#namespaces.stored(),
        isKeyActive,
        openTimersOf: (namespace) => this.#namespaces.openTimersOf(namespace),
      }),
    ]
    this.#app = httpApp({
      options,
      routes: this.#routes,
      access: new AccessCheck({
        keys: this.#keys,
        clock,
        needsKey: options.auth,
        authenticate: options.authenticate,
        ratePerSecond: options.rate,
        origins: options.corsOrigins,
        bounded: (call) => timers.bounded(undefined, call),
      }),
      metrics: this.#metrics,
      log: this.#log,
      timersOf: (namespace, onOver) => this.#namespaces.timersOf(namespace, onOver),
      isStarting: () => this.#isStarting,
    })
    this.#addOpenRoutes()
    servePage(this.#app)
    this.#mount = new Mount(this.#app)
    addSignIn(this.#app, {
      links: this.#signInLinks,
      audit,
      bounded: (call) => timers.bounded(undefined, call),
      isStarting: () => this.#isStarting,
    })
    if (parts.forwarding !== undefined) {
      this.#leaseTaker = new LeaseTaker(parts.forwarding.peers, timers.engine, clock)
      parts.forwarding.listen(this.#app, {
        engine: timers.engine,
        timersOf: (namespace) => this.#namespaces.timersOf(namespace),
        leaseTaker: this.#leaseTaker,
        leaseFinder,
        views: this.#views.cluster,
      })
    }
    const onClose = (): void => void this.#openRequests--
    this.#app.server.on('request', (_, response) => {
      this.#openRequests++
      // 'close' comes once. `once` would allocate a wrapper for each request.
      response.on('close', onClose)
    })
  }

  /** Opens the store, listens, and starts firing timers. */
  static async start(given: ServerOptions): Promise<Server> {
    return await Server.#open(given, true)
  }

  /**
   * Opens the store and starts firing timers, without listening: requests come through `handler`, `plugin` or `fetch`
   * of a program's own server. Other instances reach it only at `address`.
   */
  static async mount(given: ServerOptions): Promise<Server> {
    return await Server.#open({ forwarding: given.address !== undefined, ...given }, false)
  }

  static async #open(given: ServerOptions, listens: boolean): Promise<Server> {
    const options = serverOptions(given)
    const { clock, history, engine, guard, secretKey, tracing, logger, callTimeoutMs } = options
    const ownsStore = typeof options.store === 'string'
    const opened =
      typeof options.store === 'string' ? await openStore(options.store, { clock }) : options.store
    const metrics = new Metrics(clock)
    const store = metrics.storeCalls.observe(opened)
    let server: Server | undefined
    try {
      const isForwarding = options.forwarding && store.capabilities.shared
      const forwarding = isForwarding
        ? await Forwarding.create(store, clock, (outcome) => metrics.recordForward(outcome))
        : undefined
      const timers = await openTimers({
        store,
        clock,
        history,
        engine,
        guard,
        callTimeout: callTimeoutMs,
        ...(secretKey !== undefined && { secretKey }),
        ...(forwarding && { peers: forwarding.peers }),
        tracing,
        // The server reports by its API and its metrics.
        logger: logger ?? false,
      })
      server = new Server({ options, store, ownsStore, timers, metrics, forwarding })
      await server.#start(listens)
      return server
    } catch (error) {
      await server?.stop()
      if (ownsStore) await store.stop()
      throw error
    }
  }

  /**
   * Opens a store that no other instance has open. The server only answers through `answer`: it fires no timers,
   * listens on no port, and needs no key.
   */
  static async open(
    given: Pick<ServerOptions, 'store' | 'clock' | 'backupFolder' | 'secretKey'>,
  ): Promise<Server> {
    const options = serverOptions({ ...given, auth: false, rate: 0 })
    const { clock, history } = options
    const ownsStore = typeof options.store === 'string'
    const store =
      typeof options.store === 'string' ? await openStore(options.store, { clock }) : options.store
    try {
      await checkUnused(store)
      const alone = store.mode === 'owned'
      const { secretKey } = options
      const seal = secretKey === undefined ? {} : { secretKey }
      // A command prints its own errors.
      const timers = await openTimers({ store, clock, history, alone, logger: false, ...seal })
      const metrics = new Metrics(clock)
      return new Server({ options, store, ownsStore, timers, metrics, forwarding: undefined })
    } catch (error) {
      if (ownsStore) await store.stop()
      throw error
    }
  }

  /** Answers a request from this process, in the same way as one from the network. */
  async answer(path: string, { method = 'GET', headers, body }: RequestInit = {}): Promise<Response> {
    const { statusCode, payload } = await this.#app.inject({
      method: method as 'GET',
      url: path,
      headers: Object.fromEntries(new Headers(headers)),
      ...(typeof body === 'string' && { payload: body }),
    })
    return new Response(payload, { status: statusCode })
  }

  /** The API and the page for Node's own server, Express, Connect and NestJS: `app.use('/timers', server.handler())`. */
  get handler(): Mount['handler'] {
    return (options) => this.#mount.handler(options)
  }

  /** The same for Fastify: `app.register(server.plugin(), { prefix: '/timers' })`. */
  get plugin(): Mount['plugin'] {
    return () => this.#mount.plugin()
  }

  /** The same for what speaks `Request` and `Response`: route handlers of Next.js, Hono, Bun. */
  get fetch(): Mount['fetch'] {
    return async (request, options) => await this.#mount.fetch(request, options)
  }

  /** The URL where the server listens. All routes are below it. */
  get url(): string {
    return this.#url
  }

  /**
   * Where other machines reach the server: its URL, or if it listens on all addresses, its first one that is not
   * loopback.
   */
  get address(): string {
    const { address, host } = this.#parts.options
    return address ?? peerAddressOf(this.#url, host) ?? this.#url
  }

  /** The key that the server made because the store had no active one. Show it once. Undefined otherwise. */
  get firstToken(): string | undefined {
    return this.#firstToken
  }

  /** A URL that signs a browser in to the page: once, within ten minutes. */
  createSignInLink(): string {
    return this.address + this.#signInLinks.create()
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

  /** Accepts no more requests, answers the open ones, waits for running attempts, releases the shards. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #start(listens: boolean): Promise<void> {
    const { timers, options, forwarding } = this.#parts
    this.#isStarting = true
    // A busy port must leave the store as it is. So listen first, and refuse requests until the engine runs.
    if (listens) this.#url = await listen(this.#app, options)
    else await this.#app.ready()
    await this.#namespaces.start()
    await this.#addHelloTarget()
    await addHandlerModules(options.handlers, (namespace) => this.#namespaces.timersOf(namespace))
    await timers.start()
    this.#views.start()
    // The token is shown only if the start succeeds. So make the key after everything that can fail.
    if (options.auth) this.#firstToken = await this.#keys.createFirst()
    this.#isStarting = false
    const reachedAt = options.address ?? (listens ? peerAddressOf(this.#url, options.host) : undefined)
    if (reachedAt !== undefined) forwarding?.peers.announce(reachedAt)
    this.#scheduleKeyRefresh(options.clock)
  }

  async #stop(): Promise<void> {
    const { timers, store, ownsStore, forwarding } = this.#parts
    this.#readiness.stop()
    this.#keyRefresh?.cancel()
    this.#events.stop()
    this.#namespaces.stop()
    this.#views.stop()
    await this.#closeConnections()
    this.#leaseTaker?.stop()
    this.#metrics.stop()
    await this.#maintenance.stop()
    await this.#jobs.stop()
    try {
      await timers.stop()
    } finally {
      // Also if the store did not answer: its connections would keep the process alive.
      await forwarding?.peers.stop()
      if (ownsStore) await store.stop()
    }
  }

  #logJob({ what, name, bytesBefore, bytes, detail, found }: MaintenanceJob, error: unknown): void {
    const { logger } = this.#parts.options
    if (found !== undefined && found.damageCount > 0)
      logger?.error({ what, found }, `${what}: ${found.damageCount} damages: restore a backup`)
    else if (error === undefined) logger?.info({ what, name, bytesBefore, bytes }, `${what}: done`)
    else logger?.error({ err: error, what, name }, `${what}: failed: ${detail}`)
  }

  /** On an unused store, kind `hello` gets the log as its target, so that the first example works. */
  async #addHelloTarget(): Promise<void> {
    const { timers } = this.#parts
    const isNew = (await timers.kinds()).length === 0 && (await timers.listTargets()).length === 0
    if (isNew) await timers.setTarget('hello', { type: 'log' })
  }

  /** Waits for open requests, at most `STOP_TIMEOUT_MS`, then closes all connections. */
  async #closeConnections(): Promise<void> {
    const { clock } = this.#parts.options
    const until = clock.monotonic() + STOP_TIMEOUT_MS
    let wake: Wake | undefined
    const closeFinished = (): void => {
      // Node does not count a connection without any request as idle, and would wait for it.
      if (this.#openRequests === 0 || clock.monotonic() >= until) this.#app.server.closeAllConnections()
      else this.#app.server.closeIdleConnections()
      wake = clock.wakeAfter(STOP_POLL_MS, closeFinished)
    }
    const closing = this.#app.close()
    closeFinished()
    await closing
    wake?.cancel()
  }

  #scheduleKeyRefresh(clock: Clock): void {
    const refresh = async (): Promise<void> => {
      try {
        await this.#keys.refresh()
      } catch (error) {
        this.#log.warn(error, 'cannot read the API keys from the store')
      }
      // Also while the store is away: keys expire all the same.
      this.#events.endInactive()
      this.#keyWatch.endInactive()
      if (this.#stopping === undefined) this.#scheduleKeyRefresh(clock)
    }
    this.#keyRefresh = clock.wakeAfter(KEY_REFRESH_MS, () => void refresh(), { keepAlive: false })
  }

  /** The routes that need no key. They reveal nothing about timers. */
  #addOpenRoutes(): void {
    const openApi = JSON.stringify(this.openApi)
    const page = docsPage(this.#routes, version)
    this.#app.get('/healthz', () => ({ status: 'alive' }))
    this.#app.get('/readyz', async (_request, reply) => {
      const faults = this.#isStarting ? ['this instance is starting'] : await this.#readiness.faults()
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

async function listen(app: FastifyInstance, { host, port }: CompleteServerOptions): Promise<string> {
  try {
    return await app.listen({ host, port })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE') {
      throw new StateError('port-busy', `${host}:${port} is already in use: choose another --port`, {
        cause: error,
      })
    }
    throw error
  }
}

/** Refuses a store that another instance owns shards of: only that instance may write to them. */
async function checkUnused(store: Store): Promise<void> {
  if (store.mode !== 'owned') return
  const now = await store.now()
  const owned = (await store.shards()).filter(({ owner, leaseUntil }) => owner !== '' && leaseUntil > now)
  if (owned.length === 0) return
  const owners = new Set(owned.map(({ owner }) => owner))
  const left = Math.max(...owned.map(({ leaseUntil }) => leaseUntil)) - now
  throw new StoreError(
    'store-in-use',
    `this ${store.name} store is in use by ${[...owners].join(', ')}: call its server with --url, or stop it and wait until its leases end (${Math.ceil(left / 1000)} s)`,
  )
}

// Their answers contain secrets or payloads, so they are not kept.
const unkeptPaths: ReadonlySet<string> = new Set(['/v1/keys', '/v1/leases'])

/** Makes each route that changes something run once per Idempotency-Key, unless its handler does so itself. */
function withIdempotency(idempotency: Idempotency, routes: readonly Route[]): readonly Route[] {
  return routes.map((route) => {
    const handlesItself = route.headers?.includes('idempotency-key') === true
    const isUnguarded = route.scope === 'read' || handlesItself || unkeptPaths.has(route.path)
    return isUnguarded ? route : idempotency.guard(route)
  })
}
