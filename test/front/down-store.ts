import { StoreError } from '../../src/error/index.js'
import { MemoryStore, type Store } from '../../src/store/index.js'
import type { Clock } from '../../src/time/index.js'

/** Calls that answer at once, whatever happens to a server. */
const local: ReadonlySet<string> = new Set(['wake', 'onWake'])

/** A memory store that can be away. Then its calls hang and happen late, or they fail and did not happen. */
export class DownStore {
  readonly store: Store
  /** The calls that it got while it was away. */
  readonly calls: string[] = []
  /** Which calls hang, by their names. */
  isHanging: (name: string) => boolean = () => false
  isUnavailable = false
  readonly #hanging: (() => void)[] = []

  constructor(clock: Clock, options: { readonly shardCount?: number; readonly strategy?: 'claim' } = {}) {
    const inner: Store = new MemoryStore({ clock, ...options })
    this.store = new Proxy<Store>(inner, {
      get: (_, name: keyof Store) => {
        const value: unknown = inner[name]
        if (typeof value !== 'function') return value
        const call = value.bind(inner) as (...args: unknown[]) => unknown
        return local.has(name) ? call : (...args: unknown[]) => this.#call(name, () => call(...args))
      },
    })
  }

  /** From now on, all calls hang. */
  hang(): void {
    this.isHanging = () => true
  }

  /** It answers again. Calls that hang happen now. */
  comeBack(): void {
    this.isHanging = () => false
    this.isUnavailable = false
    for (const call of this.#hanging.splice(0)) call()
  }

  #call(name: string, call: () => unknown): unknown {
    if (this.isUnavailable) {
      this.calls.push(name)
      return Promise.reject(new StoreError('store-unavailable', 'the store is away'))
    }
    if (!this.isHanging(name)) return call()
    this.calls.push(name)
    return new Promise((resolve) => {
      this.#hanging.push(() => resolve(call()))
    })
  }
}
