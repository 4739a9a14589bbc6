import type { Store } from '../../src/store/index.js'

/** A store whose calls go to another, but for those that are given: a fault, planted at the seam. */
export function troubled(store: Store, planted: Partial<Store>): Store {
  return new Proxy<Store>(store, {
    get: (_, name: keyof Store) => {
      const value = planted[name] ?? store[name]
      return typeof value === 'function' ? (value as () => unknown).bind(store) : value
    },
  })
}
