import type { Store } from '../../src/store/index.js'

/** A store that passes its calls to another, except for the given ones: a planted fault. */
export function troubled(store: Store, planted: Partial<Store>): Store {
  return new Proxy<Store>(store, {
    get: (_, name: keyof Store) => {
      const value = planted[name] ?? store[name]
      return typeof value === 'function' ? (value as () => unknown).bind(store) : value
    },
  })
}
