import type { Scope } from './chunk.js'

/** A namespace and kind, with the number of chunks that have rows of it. */
export interface CountedScope extends Scope {
  chunks: number
  /** The list with this scope alone, which most chunks share. */
  readonly alone: readonly CountedScope[]
}

/** Which namespaces and kinds the chunks have. A scope is forgotten with its last chunk. */
export class ScopeTable {
  readonly #byNamespace = new Map<string, Map<string, CountedScope>>()

  /** Whether any chunk has this namespace, and this kind if it is given. */
  has(namespace: string, kind: string | undefined): boolean {
    const kinds = this.#byNamespace.get(namespace)
    return kinds !== undefined && (kind === undefined || kinds.has(kind))
  }

  /** Counts a chunk with these scopes. Returns what `release` takes. */
  retain(scopes: readonly Scope[]): readonly CountedScope[] {
    if (scopes.length === 1) return this.#retainOne(scopes[0]!).alone
    return scopes.map((scope) => this.#retainOne(scope))
  }

  release(scopes: readonly CountedScope[]): void {
    for (const scope of scopes) {
      if (--scope.chunks > 0) continue
      const kinds = this.#byNamespace.get(scope.namespace)
      if (kinds?.delete(scope.kind) === true && kinds.size === 0) this.#byNamespace.delete(scope.namespace)
    }
  }

  #retainOne({ namespace, kind }: Scope): CountedScope {
    let kinds = this.#byNamespace.get(namespace)
    if (kinds === undefined) this.#byNamespace.set(namespace, (kinds = new Map()))
    let scope = kinds.get(kind)
    if (scope === undefined) {
      const alone: CountedScope[] = []
      scope = { namespace, kind, chunks: 0, alone }
      alone.push(scope)
      kinds.set(kind, scope)
    }
    scope.chunks++
    return scope
  }
}
