import { StoreError } from '../../src/error/index.js'
import type { Store } from '../../src/store/index.js'

/** The connections of instances to one store. A connection that is cut fails every call, as if a network were lost. */
export class StoreLines {
  readonly #cutOff = new Set<string>()

  cutOff(name: string): void {
    this.#cutOff.add(name)
  }

  /** The store as the instance of this name sees it. */
  to(store: Store, name: string): Store {
    return new Proxy<Store>(store, {
      get: (_, property: keyof Store) => {
        const value = store[property]
        if (typeof value !== 'function') return value
        const call = (value as (...args: unknown[]) => unknown).bind(store)
        if (['wake', 'onWake', 'onMail', 'stop'].includes(property)) return call
        return async (...args: unknown[]) => {
          if (this.#cutOff.has(name)) throw new StoreError('store-unavailable', 'the line is dead')
          return await call(...args)
        }
      },
    })
  }
}
