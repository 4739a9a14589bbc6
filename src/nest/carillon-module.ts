import { InvalidInputError, StateError } from '../error/index.js'
import { openTimers, type TimersApi, type TimersOptions, type UnknownKind } from '../front/index.js'
import { markedMethodsOf } from './timer-decorator.js'

/**
 * The token under which Nest provides the timers: `@Inject(TIMERS) timers: TimersApi`. In a test,
 * `overrideProvider(TIMERS).useValue(await testTimers())` gives the application virtual time.
 */
export const TIMERS: symbol = Symbol.for('carillon/timers')

const OPTIONS = Symbol.for('carillon/options')

/** The options of `openTimers`, and whether this application handles timers. */
export interface CarillonModuleOptions extends TimersOptions {
  /**
   * Registers the methods with `@Timer` and starts the timers when the application has started. `false` for an application
   * that only sets timers. Default true.
   */
  readonly start?: boolean
}

/** Options that other providers give. */
export interface CarillonModuleAsyncOptions {
  readonly imports?: readonly unknown[]
  readonly inject?: readonly unknown[]
  readonly useFactory: (...injected: never[]) => CarillonModuleOptions | Promise<CarillonModuleOptions>
}

/** A dynamic module of Nest. */
export interface NestModule {
  readonly module: new () => object
  readonly global: boolean
  // Nest's own types cannot be named here: its package may not be installed.
  readonly imports: never[]
  readonly providers: never[]
  readonly exports: symbol[]
}

/** The part of Nest that lists providers and controllers. */
interface Discovery {
  getProviders(): readonly Wrapper[]
  getControllers(): readonly Wrapper[]
}

interface Wrapper {
  readonly name: unknown
  readonly instance: unknown
  readonly metatype: unknown
  isDependencyTreeStatic(): boolean
}

/**
 * Timers as a module of a NestJS application. It opens them, provides them under `TIMERS`, gives firings to the methods
 * with `@Timer`, starts after the application, and stops with it: `app.close()`, or a signal after
 * `app.enableShutdownHooks()`. Proven by test/nest/nest.test.ts, and with compiled decorators by
 * `npm run compat -- --only nest`.
 */
export class CarillonModule {
  /**
   * The module with its options.
   *
   * @example
   * ```ts
   * @Module({ imports: [CarillonModule.forRoot({ store: 'postgres://…' })], providers: [Reminders] })
   * class AppModule {}
   * ```
   */
  static forRoot(options: CarillonModuleOptions): Promise<NestModule> {
    return CarillonModule.forRootAsync({ useFactory: () => options })
  }

  /**
   * The module with options from other providers.
   *
   * @example
   * ```ts
   * CarillonModule.forRootAsync({
   *   inject: [ConfigService],
   *   useFactory: (config: ConfigService) => ({ store: config.getOrThrow('DATABASE_URL') }),
   * })
   * ```
   */
  static async forRootAsync(options: CarillonModuleAsyncOptions): Promise<NestModule> {
    const { DiscoveryModule, DiscoveryService } = await loadNest()
    const providers = [
      { provide: OPTIONS, inject: options.inject ?? [], useFactory: options.useFactory },
      {
        provide: TIMERS,
        inject: [OPTIONS],
        useFactory: (given: CarillonModuleOptions) => openTimers(timersOptionsOf(given)),
      },
      {
        provide: TimerLifecycle,
        inject: [TIMERS, OPTIONS, DiscoveryService],
        useFactory: (timers: TimersApi, { start = true }: CarillonModuleOptions, discovery: Discovery) =>
          new TimerLifecycle(timers, discovery, start),
      },
    ]
    return {
      module: CarillonModule,
      global: true,
      imports: [DiscoveryModule, ...(options.imports ?? [])] as never[],
      providers: providers as never[],
      exports: [TIMERS],
    }
  }
}

/** Registers the handlers, and starts and stops the timers with the application. Nest calls its hooks by their names. */
class TimerLifecycle {
  readonly #timers: TimersApi
  readonly #discovery: Discovery
  readonly #isStarted: boolean

  constructor(timers: TimersApi, discovery: Discovery, isStarted: boolean) {
    this.#timers = timers
    this.#discovery = discovery
    this.#isStarted = isStarted
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!this.#isStarted) return
    const handled = new Map<UnknownKind, string>()
    for (const wrapper of [...this.#discovery.getProviders(), ...this.#discovery.getControllers()])
      this.#register(wrapper, handled)
    await this.#timers.start()
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#timers.stop()
  }

  #register(wrapper: Wrapper, handled: Map<UnknownKind, string>): void {
    const { instance } = wrapper
    if (typeof instance !== 'object' || instance === null) return
    for (const { kind, name, transaction } of markedMethodsOf(instance)) {
      const place = `${String(wrapper.name)}.${String(name)}`
      if (!wrapper.isDependencyTreeStatic())
        throw new InvalidInputError(
          'invalid-option',
          `${place} handles timers, but its provider is made for each request: give it the default scope`,
        )
      const other = handled.get(kind)
      if (other !== undefined)
        throw new InvalidInputError(
          'invalid-option',
          `${other} and ${place} both handle the kind ${kind.name}: a kind has one handler`,
        )
      handled.set(kind, place)
      const methods = instance as Readonly<Record<string | symbol, (firing: unknown) => unknown>>
      const handle = (firing: unknown): unknown => methods[name]!(firing)
      if (transaction) this.#timers.handle(kind, handle, { transaction: true })
      else this.#timers.handle(kind, handle)
    }
  }
}

function timersOptionsOf({ start, ...options }: CarillonModuleOptions): TimersOptions {
  void start
  return options
}

async function loadNest(): Promise<{
  readonly DiscoveryModule: unknown
  readonly DiscoveryService: unknown
}> {
  try {
    return await import('@nestjs/core')
  } catch (error) {
    throw new StateError(
      'package-missing',
      'cannot load the package @nestjs/core: npm install @nestjs/core',
      {
        cause: error,
      },
    )
  }
}
