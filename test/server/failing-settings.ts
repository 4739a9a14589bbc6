import { StoreError } from '../../src/error/index.js'
import type { Store } from '../../src/store/index.js'

/** The store, but it refuses to write settings with this prefix. */
export function downStore(store: Store, prefix: string): Store {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'putSetting') {
        return (setting: string, value: string | undefined, ifVersion?: number) =>
          setting.startsWith(prefix)
            ? Promise.reject(new StoreError('store-unavailable', 'the store is down'))
            : target.putSetting(setting, value, ifVersion)
      }
      const found: unknown = Reflect.get(target, name, target)
      return typeof found === 'function' ? (found.bind(target) as unknown) : found
    },
  })
}
