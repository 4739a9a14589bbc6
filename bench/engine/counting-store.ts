import type { Settlement, Store } from 'carillon/store'

/** The calls that a store received. */
export interface StoreCalls {
  /** The number of calls by method. */
  readonly byMethod: Map<string, number>
  /** The number of rows removed one by one. */
  rowDeletes: number
  /** The number of calls that remove rows: sweeps, and settlements that name rows. */
  deletes: number
}

/** Wraps a store and counts its calls. */
export function countingStore(store: Store): { readonly store: Store; readonly calls: StoreCalls } {
  const calls: StoreCalls = { byMethod: new Map(), rowDeletes: 0, deletes: 0 }
  const counted = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function' || typeof name !== 'string') return value
      return (...args: readonly unknown[]): unknown => {
        calls.byMethod.set(name, (calls.byMethod.get(name) ?? 0) + 1)
        if (name === 'sweep') calls.deletes++
        if (name === 'settle') {
          const { done } = args[1] as Settlement
          calls.rowDeletes += done.length
          if (done.length > 0) calls.deletes++
        }
        return Reflect.apply(value, target, args)
      }
    },
  })
  return { store: counted, calls }
}
