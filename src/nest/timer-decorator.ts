import type { TimerFiring, TransactionFiring } from '../delivery/index.js'
import { checkOptions, InvalidInputError, shown } from '../error/index.js'
import type { TimerKind, UnknownKind } from '../front/index.js'

/** The options of `@Timer`. */
export interface TimerMethodOptions {
  /** Commits what the method writes by `firing.transaction` together with the end of the firing. Default false. */
  readonly transaction?: boolean
}

/** A decorator for a method that takes such firings. */
export type TimerMethod<Firing> = <Method extends (firing: Firing) => unknown>(
  target: object,
  name: string | symbol,
  method: TypedPropertyDescriptor<Method>,
) => void

/** A method that gets the firings of a kind. */
export interface MarkedMethod {
  readonly kind: UnknownKind
  readonly name: string | symbol
  readonly transaction: boolean
}

// By prototype, so that the decorator needs no package for metadata.
const marked = new WeakMap<object, MarkedMethod[]>()

/**
 * Lets a method of a provider or controller handle the timers of a kind. The compiler checks that the method takes the
 * payload of the kind. The provider needs the default scope: a firing belongs to no request.
 *
 * @example
 * ```ts
 * const remind = timer<{ orderId: string }>('remind')
 *
 * @Injectable()
 * class Reminders {
 *   @Timer(remind)
 *   async remind(firing: TimerFiring<{ orderId: string }>) {
 *     await this.mail.send(firing.payload.orderId)
 *   }
 * }
 * ```
 */
export function Timer<Payload>(
  kind: TimerKind<Payload, never>,
  options: { readonly transaction: true },
): TimerMethod<TransactionFiring<Payload>>
export function Timer<Payload>(
  kind: TimerKind<Payload, never>,
  options?: { readonly transaction?: false },
): TimerMethod<TimerFiring<Payload>>
export function Timer(
  kind: UnknownKind,
  options: TimerMethodOptions = {},
): (target: object, name: string | symbol, method: never) => void {
  checkOptions('Timer', options, ['transaction'])
  const { transaction = false } = options
  return (target, name) => {
    if (typeof target === 'function' || typeof name === 'undefined')
      throw new InvalidInputError(
        'invalid-option',
        `@Timer is for methods of instances, got ${shown(name)} of ${shown(target)}: set experimentalDecorators, as Nest needs it`,
      )
    marked.set(target, [...(marked.get(target) ?? []), { kind, name, transaction }])
  }
}

/** The methods of an instance that `@Timer` marks, also those of its base classes. */
export function markedMethodsOf(instance: object): readonly MarkedMethod[] {
  const found: MarkedMethod[] = []
  let prototype: unknown = Object.getPrototypeOf(instance)
  while (typeof prototype === 'object' && prototype !== null) {
    found.push(...(marked.get(prototype) ?? []))
    prototype = Object.getPrototypeOf(prototype)
  }
  return found
}
