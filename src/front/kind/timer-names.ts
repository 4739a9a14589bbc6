import { InvalidInputError, shown } from '../../error/index.js'
import { checkKey, parseHandle, type TimerHandle, type TimerName } from '../../timer/index.js'
import type { AnyKind } from './kind.js'
import type { Kinds } from './kinds.js'

/** A timer by name. With an identity, it means one life of the key and no later one. */
export type Named = TimerName & { readonly identity?: number }

/** Turns what callers pass, kind and key or a handle, into the name of a timer in this namespace. */
export class TimerNames {
  readonly #namespace: string
  readonly #kinds: Kinds

  constructor(namespace: string, kinds: Kinds) {
    this.#namespace = namespace
    this.#kinds = kinds
  }

  /**
   * The timer with this kind and key; without a key, the one with this handle. Returns a promise only if the kind must
   * be looked up in the store: calls that are not awaited keep their order.
   */
  nameOf(kindOrHandle: AnyKind | TimerHandle, key: string | undefined): Named | Promise<Named> {
    if (key !== undefined) {
      checkKey(key)
      const namespace = this.#namespace
      const kind = this.#kinds.knownNameOf(kindOrHandle)
      if (kind !== undefined) return { namespace, kind, key }
      return this.#kinds.nameOf(kindOrHandle).then((name) => ({ namespace, kind: name, key }))
    }
    if (typeof kindOrHandle === 'string') return this.#ofHandle(kindOrHandle)
    this.#kinds.use(kindOrHandle)
    throw missingKey(kindOrHandle)
  }

  #ofHandle(handle: TimerHandle): Named {
    const name = parseHandle(handle)
    if (name.namespace === this.#namespace) return name
    throw new InvalidInputError(
      'invalid-handle',
      `this handle is from namespace ${shown(name.namespace)}, but these timers are in namespace ${shown(this.#namespace)}`,
    )
  }
}

export function missingKey({ name }: { readonly name: string }): InvalidInputError {
  return new InvalidInputError('invalid-key', `missing key for kind ${shown(name)}: pass a key or a handle`)
}
