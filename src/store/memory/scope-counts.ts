import type { Scope } from './row-record.js'

/** How many rows each namespace and kind has. A scope has a number while it has rows; numbers are used again. */
export class ScopeCounts {
  readonly #byNamespace = new Map<string, Map<string, number>>()
  readonly #scopes: Scope[] = []
  readonly #rows: number[] = []
  readonly #free: number[] = []
  #lastScope: Scope | undefined
  #last = -1

  /** The number of a scope; -1 if it has no rows. */
  numberOf({ namespace, kind }: Scope): number {
    const last = this.#lastScope
    if (last !== undefined && last.kind === kind && last.namespace === namespace) return this.#last
    const number = this.#byNamespace.get(namespace)?.get(kind)
    return number === undefined ? -1 : this.#remember(number)
  }

  scope(number: number): Scope {
    return this.#scopes[number]!
  }

  /** Counts another row of a scope. Returns the scope's number. */
  add(scope: Scope): number {
    let number = this.numberOf(scope)
    if (number < 0) number = this.#register(scope)
    this.#rows[number]!++
    return number
  }

  remove(number: number): void {
    if (--this.#rows[number]! > 0) return
    const { namespace, kind } = this.#scopes[number]!
    const kinds = this.#byNamespace.get(namespace)!
    kinds.delete(kind)
    if (kinds.size === 0) this.#byNamespace.delete(namespace)
    this.#free.push(number)
    this.#lastScope = undefined
  }

  /** Whether any row has this namespace, and this kind if it is given. */
  has(namespace: string, kind: string | undefined): boolean {
    const kinds = this.#byNamespace.get(namespace)
    return kinds !== undefined && (kind === undefined || kinds.has(kind))
  }

  #register({ namespace, kind }: Scope): number {
    const number = this.#free.pop() ?? this.#scopes.length
    this.#scopes[number] = { namespace, kind }
    this.#rows[number] = 0
    let kinds = this.#byNamespace.get(namespace)
    if (kinds === undefined) this.#byNamespace.set(namespace, (kinds = new Map()))
    kinds.set(kind, number)
    return this.#remember(number)
  }

  #remember(number: number): number {
    this.#lastScope = this.#scopes[number]
    return (this.#last = number)
  }
}
