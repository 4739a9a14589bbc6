import { MAX_PUBLISHED_KINDS } from '../defaults.js'

/** The kinds of one namespace: those named, or all but those named. */
export interface KindsOfNamespace {
  readonly namespace: string
  readonly only?: readonly string[]
  readonly except?: readonly string[]
}

/**
 * The kinds that an instance handles for others, as its heartbeat publishes them. The text is bounded: an instance that
 * handles very many kinds publishes whole namespaces instead, and gives back what it cannot start.
 *
 * Proven by test/engine/kind-filter.test.ts.
 */
export class KindFilter {
  static readonly all = new KindFilter(undefined)
  static readonly none = new KindFilter([])
  /** Two filters with the same text let the same kinds through. */
  readonly text: string
  readonly #byNamespace: ReadonlyMap<string, PackedKinds> | undefined

  private constructor(packed: readonly PackedKinds[] | undefined) {
    this.text = JSON.stringify(packed ?? 'all')
    this.#byNamespace = packed && new Map(packed.map((each) => [each[0], each]))
  }

  static of(kinds: readonly KindsOfNamespace[]): KindFilter {
    if (kinds.length > MAX_PUBLISHED_KINDS) return KindFilter.all
    const count = kinds.reduce((sum, { only, except }) => sum + (only ?? except ?? []).length, 0)
    const packed = kinds
      .filter(({ only }) => only?.length !== 0)
      .map(({ namespace, only, except = [] }): PackedKinds => {
        const isOnly = only !== undefined && count <= MAX_PUBLISHED_KINDS
        const names = count > MAX_PUBLISHED_KINDS ? [] : (only ?? except)
        return [namespace, isOnly ? 'only' : 'except', names.toSorted()]
      })
    return new KindFilter(packed.toSorted(([one], [other]) => (one < other ? -1 : 1)))
  }

  /** Reads what a heartbeat has published. What cannot be read lets nothing through. */
  static parse(text: unknown): KindFilter {
    if (typeof text !== 'string') return KindFilter.none
    const given: unknown = JSON.parse(text)
    return given === 'all' ? KindFilter.all : new KindFilter(given as readonly PackedKinds[])
  }

  has(namespace: string, kind: string): boolean {
    if (this.#byNamespace === undefined) return true
    const found = this.#byNamespace.get(namespace)
    if (found === undefined) return false
    const [, how, names] = found
    return names.includes(kind) === (how === 'only')
  }
}

type PackedKinds = readonly [namespace: string, how: 'only' | 'except', names: readonly string[]]
