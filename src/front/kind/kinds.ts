import { InvalidInputError, LimitError, shown } from '../../error/index.js'
import type { Store } from '../../store/index.js'
import { checkKind } from '../../timer/index.js'
import { MAX_KINDS } from '../defaults.js'
import { type AnyKind, checkKindMade, type UnknownKind } from './kind.js'

const MAX_NAMES_IN_ERROR = 10

function tooMany(): LimitError {
  return new LimitError(
    'too-many-kinds',
    `this namespace has ${MAX_KINDS} kinds, the most there may be: a kind names what is to be done, and the key names for whom`,
  )
}

/**
 * The kinds of a namespace. A caller may pass a kind that `timer()` made, or its name. A name is valid here once such a
 * kind was used here. It is valid in every instance once a timer of it was set or it was handled: the store's settings
 * keep it. Other names are refused, so that a misspelt name does not pass for a kind without timers. Proven by
 * test/front/kinds.test.ts.
 */
export class Kinds {
  readonly #store: Store
  readonly #prefix: string
  readonly #onStoreError: (call: string, error: unknown) => void
  readonly #used = new Set<string>()
  readonly #stored = new Set<string>()

  constructor(parts: {
    store: Store
    namespace: string
    onStoreError: (call: string, error: unknown) => void
  }) {
    this.#store = parts.store
    // Encoded, because a slash in the name would make it part of another namespace.
    this.#prefix = `kind/${encodeURIComponent(parts.namespace)}/`
    this.#onStoreError = parts.onStoreError
  }

  /** All names that are known here. */
  get names(): readonly string[] {
    return [...new Set([...this.#used, ...this.#stored])].toSorted()
  }

  /** Reads the stored names again. Returns whether there are new ones. */
  async refresh(): Promise<boolean> {
    const before = this.#stored.size
    for (const { name } of await this.#store.settings(this.#prefix)) {
      this.#stored.add(name.slice(this.#prefix.length))
    }
    return this.#stored.size > before
  }

  /** Notes that a kind is used here. Refuses what `timer()` did not make. */
  use(kind: UnknownKind): void {
    checkKindMade(kind)
    if (this.#used.has(kind.name)) return
    const known = Math.max(this.#used.size, this.#stored.size)
    if (known >= MAX_KINDS && !this.#stored.has(kind.name)) throw tooMany()
    this.#used.add(kind.name)
  }

  /** The name of a kind; undefined if only the store may know it. */
  knownNameOf(kind: AnyKind): string | undefined {
    if (typeof kind === 'string') return this.#used.has(kind) || this.#stored.has(kind) ? kind : undefined
    this.use(kind)
    return kind.name
  }

  /** The name of a kind, which may be new. */
  newNameOf(kind: AnyKind): string {
    if (typeof kind === 'string') checkKind(kind)
    else this.use(kind)
    return typeof kind === 'string' ? kind : kind.name
  }

  /** The name of an existing kind. Refuses other names. */
  async nameOf(kind: AnyKind): Promise<string> {
    const known = this.knownNameOf(kind)
    if (known !== undefined) return known
    // Another instance may have stored it since the last refresh.
    await this.refresh()
    const name = this.knownNameOf(kind)
    if (name !== undefined) return name
    throw new InvalidInputError(
      'unknown-kind',
      `no kind ${shown(kind)} was set or handled in this namespace; known kinds: ${this.#listed()}`,
    )
  }

  /** Whether other instances can know the kind. */
  isStored(name: string): boolean {
    return this.#stored.has(name)
  }

  /** Stores a kind for other instances. If the store fails, the next call tries again. */
  async remember(name: string): Promise<void> {
    if (this.#stored.has(name)) return
    // Added before the write, so that only one of many concurrent callers writes it.
    this.#stored.add(name)
    try {
      await this.#store.putSetting(this.#prefix + name, 'known', 0)
    } catch (error) {
      this.#stored.delete(name)
      this.#onStoreError('putSetting', error)
    }
  }

  /** Stores all kinds that are used here. */
  async rememberAll(): Promise<void> {
    await Promise.all([...this.#used].map((name) => this.remember(name)))
  }

  #listed(): string {
    const { names } = this
    if (names.length === 0) return 'none'
    const few = names.slice(0, MAX_NAMES_IN_ERROR).join(', ')
    return names.length > MAX_NAMES_IN_ERROR ? `${few}, …` : few
  }
}
