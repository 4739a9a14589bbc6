import { StoreError } from '../../error/index.js'
import {
  type Firing,
  type FiringTransaction,
  isTraceparent,
  type Outcome,
  traceparentOf,
} from '../../timer/index.js'

/** The used part of `@opentelemetry/api`, so that neither compiling nor loading this file needs the package. */
interface TracingApi {
  readonly trace: {
    getTracer(name: string): {
      startSpan(name: string, options: { kind: number; attributes: Attributes }, context: unknown): Span
    }
    setSpan(context: unknown, span: Span): unknown
    setSpanContext(context: unknown, spanContext: SpanContext): unknown
  }
  readonly context: {
    active(): unknown
    with<Answer>(context: unknown, run: () => Answer): Answer
  }
  readonly SpanKind: { readonly PRODUCER: number; readonly CONSUMER: number }
  readonly SpanStatusCode: { readonly ERROR: number }
}

type Attributes = Readonly<Record<string, string | number>>

interface SpanContext {
  readonly traceId: string
  readonly spanId: string
  readonly traceFlags: number
  readonly isRemote?: boolean
}

interface Span {
  spanContext(): SpanContext
  setAttribute(name: string, value: string | number): unknown
  setStatus(status: { readonly code: number; readonly message?: string }): unknown
  end(): void
}

/**
 * Traces timers from `set` to delivery with OpenTelemetry. Each call that sets timers has a span, whose context is
 * stored with the timers. Each attempt has a child span of it. Without an SDK the spans are empty and cheap. Without the
 * option `tracing`, this file is not loaded. Proven by test/front/tracing.test.ts.
 */
export class Tracing {
  readonly #api: TracingApi
  readonly #tracer: ReturnType<TracingApi['trace']['getTracer']>

  constructor(api: TracingApi) {
    this.#api = api
    this.#tracer = api.trace.getTracer('carillon')
  }

  /** Loads the optional package `@opentelemetry/api`. */
  static async load(): Promise<Tracing> {
    try {
      return new Tracing(await import('@opentelemetry/api'))
    } catch (error) {
      throw new StoreError(
        'driver-missing',
        'tracing needs the package @opentelemetry/api, which cannot be loaded: run npm install @opentelemetry/api',
        { cause: error },
      )
    }
  }

  /** Sets timers within a span, a child of `parent` or of the active span. `set` gets the traceparent to store. */
  async setting<Answer>(
    where: { readonly namespace: string; readonly kind: string; readonly count: number },
    parent: string | undefined,
    set: (traceparent: string | undefined) => Promise<Answer>,
  ): Promise<Answer> {
    const attributes = {
      'carillon.namespace': where.namespace,
      'carillon.kind': where.kind,
      'carillon.timers': where.count,
    }
    const options = { kind: this.#api.SpanKind.PRODUCER, attributes }
    const span = this.#tracer.startSpan(`set ${where.kind}`, options, this.#contextOf(parent))
    try {
      return await this.#api.context.with(this.#api.trace.setSpan(this.#api.context.active(), span), () =>
        set(traceparentText(span.spanContext())),
      )
    } catch (error) {
      span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: (error as Error).message })
      throw error
    } finally {
      span.end()
    }
  }

  /** Delivers firings, each within its own span, which ends with the attempt. */
  delivering(firings: readonly Firing[], deliver: (firings: readonly Firing[]) => void): void {
    const traced = firings.map((firing) => this.#traced(firing))
    const [first] = traced
    // Only one span can be active. Handlers of a batch use each firing's `traceparent`.
    if (traced.length === 1) this.#api.context.with(first!.context, () => deliver([first!.firing]))
    else deliver(traced.map(({ firing }) => firing))
  }

  #traced(firing: Firing): { readonly firing: Firing; readonly context: unknown } {
    const { namespace, kind, key, occurrence, dueAt } = firing.row
    const attributes = {
      'carillon.namespace': namespace,
      'carillon.kind': kind,
      'carillon.key': key,
      'carillon.attempt': firing.attempt,
      'carillon.occurrence': occurrence,
      'carillon.lateness_ms': firing.firedAt - dueAt,
    }
    const context = this.#contextOf(traceparentOf(firing))
    const options = { kind: this.#api.SpanKind.CONSUMER, attributes }
    const span = this.#tracer.startSpan(`deliver ${kind}`, options, context)
    return {
      firing: new TracedFiring(firing, traceparentText(span.spanContext()), (outcome) =>
        this.#end(span, outcome),
      ),
      context: this.#api.trace.setSpan(context, span),
    }
  }

  /** Ends a span. Without an outcome, the attempt was not started. */
  #end(span: Span, outcome: Outcome | undefined): void {
    span.setAttribute('carillon.outcome', outcome?.type ?? 'postponed')
    if (outcome === undefined) {
      span.end()
      return
    }
    if (outcome.type === 'retry' || outcome.type === 'dead') {
      span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: outcome.reason })
    }
    span.end()
  }

  #contextOf(traceparent: string | undefined): unknown {
    const active = this.#api.context.active()
    // The set itself refuses an invalid traceparent.
    if (traceparent === undefined || !isTraceparent(traceparent)) return active
    const [, traceId = '', spanId = '', flags = '00'] = traceparent.split('-')
    const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
    return this.#api.trace.setSpanContext(active, parent)
  }
}

/** A firing whose first report ends a span. */
class TracedFiring implements Firing {
  readonly id: string
  readonly row: Firing['row']
  readonly attempt: number
  readonly firedAt: number
  readonly traceparent?: string
  readonly begin?: () => Promise<FiringTransaction>
  readonly #firing: Firing
  readonly #end: (outcome: Outcome | undefined) => void
  #isEnded = false

  constructor(firing: Firing, traceparent: string | undefined, end: (outcome: Outcome | undefined) => void) {
    this.#firing = firing
    this.#end = end
    this.id = firing.id
    this.row = firing.row
    this.attempt = firing.attempt
    this.firedAt = firing.firedAt
    if (traceparent !== undefined) this.traceparent = traceparent
    if (firing.begin !== undefined) this.begin = () => this.#begin()
  }

  get isLive(): boolean {
    return this.#firing.isLive
  }

  start(): boolean {
    return this.#firing.start() || this.#endUnstarted()
  }

  postpone(): void {
    this.#endUnstarted()
    this.#firing.postpone()
  }

  get onAbandoned(): Firing['onAbandoned'] {
    return this.#firing.onAbandoned
  }

  set onAbandoned(onAbandoned: Firing['onAbandoned']) {
    this.#firing.onAbandoned = onAbandoned
  }

  #endUnstarted(): false {
    if (!this.#isEnded) this.#end(undefined)
    this.#isEnded = true
    return false
  }

  report(outcome: Outcome): void {
    this.#endWith(outcome)
    this.#firing.report(outcome)
  }

  async #begin(): Promise<FiringTransaction> {
    const transaction = await this.#firing.begin!()
    return {
      connection: transaction.connection,
      commit: async (outcome) => {
        await transaction.commit(outcome)
        this.#endWith(outcome)
      },
      rollback: () => transaction.rollback(),
      abandon: () => transaction.abandon(),
    }
  }

  #endWith(outcome: Outcome): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#end(outcome)
  }
}

/** Undefined for an empty span, as there is without an SDK. */
function traceparentText({ traceId, spanId, traceFlags }: SpanContext): string | undefined {
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return undefined
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}
