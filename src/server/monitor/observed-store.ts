import { CarillonError } from '../../error/index.js'
import type { Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { metric, metricOf } from './metric-text.js'

interface CallCount {
  calls: number
  ms: number
  readonly errors: Map<string, number>
}

/** Counts the calls of a store, their time and their errors. It sees every call, whatever the store. */
export class StoreCalls {
  readonly #clock: Clock
  readonly #counts = new Map<string, CallCount>()
  #inFlight = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The same store, with its calls counted. */
  observe(store: Store): Store {
    const methods = new Map<unknown, unknown>()
    return new Proxy<Store>(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        let method = methods.get(value)
        if (method === undefined) {
          method = this.#counted(String(name), value.bind(target) as (...args: unknown[]) => unknown)
          methods.set(value, method)
        }
        return method
      },
    })
  }

  *text(): Generator<string> {
    const all = [...this.#counts]
    yield* metric(
      'carillon_store_calls_in_flight',
      'gauge',
      'Calls of the store that are not answered yet.',
      this.#inFlight,
    )
    yield* metricOf(
      'carillon_store_calls_total',
      'counter',
      'Calls of the store that were answered.',
      all.map(([name, { calls }]) => [`call="${name}"`, calls]),
    )
    yield* metricOf(
      'carillon_store_call_seconds_total',
      'counter',
      'The time that these calls took.',
      all.map(([name, { ms }]) => [`call="${name}"`, ms / 1000]),
    )
    yield* metricOf(
      'carillon_store_errors_total',
      'counter',
      'Calls of the store that failed, by the code of the error.',
      all.flatMap(([name, { errors }]) =>
        Array.from(errors, ([code, count]) => [`call="${name}",code="${code}"`, count] as const),
      ),
    )
  }

  #counted(name: string, method: (...args: unknown[]) => unknown): (...args: unknown[]) => unknown {
    return (...args) => {
      const from = this.#clock.monotonic()
      const answer = method(...args)
      if (answer instanceof Promise) {
        this.#inFlight++
        // The caller handles the error. This only counts it.
        answer.then(
          () => this.#add(name, from, undefined),
          (error: unknown) => this.#add(name, from, error instanceof CarillonError ? error.code : 'other'),
        )
      }
      return answer
    }
  }

  #add(name: string, from: number, code: string | undefined): void {
    this.#inFlight--
    let count = this.#counts.get(name)
    if (count === undefined) this.#counts.set(name, (count = { calls: 0, ms: 0, errors: new Map() }))
    count.calls++
    count.ms += this.#clock.monotonic() - from
    if (code !== undefined) count.errors.set(code, (count.errors.get(code) ?? 0) + 1)
  }
}
