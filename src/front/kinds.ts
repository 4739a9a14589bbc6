import { InvalidInputError, shown } from '../error/index.js'
import type { Store } from '../store/index.js'
import { checkKind } from '../timer/index.js'
import { type AnyKind, isKind, type TimerKind } from './kind.js'

/**
 * The kinds of a namespace. A kind that `timer()` made is known to whoever has it. A name is known where such a
 * kind was used, and everywhere once a timer of it was set or it was handled: the store's settings remember it.
 * Any other name is refused, so that a misspelt one is not taken for a kind that has no timers.
 */
export class Kinds {
  readonly #store: Store
  readonly #prefix: string
  readonly #onTrouble: (call: string, error: unknown) => void
  readonly #used = new Set<string>()
  readonly #stored = new Set<string>()

  constructor(parts: { store: Store; namespace: string; onTrouble: (call: string, error: unknown) => void }) {
    this.#store = parts.store
    // Encoded, so that a slash in its name does not make it part of another namespace.
    this.#prefix = `kind/${encodeURIComponent(parts.namespace)}/`
    this.#onTrouble = parts.onTrouble
  }

  /** All that are known here. */
  get names(): readonly string[] {
    return [...new Set([...this.#used, ...this.#stored])].toSorted()
  }

  /** Looks at the store again. Answers whether it knows of more. */
  async look(): Promise<boolean> {
    const before = this.#stored.size
    for (const { name } of await this.#store.settings(this.#prefix)) {
      this.#stored.add(name.slice(this.#prefix.length))
    }
    return this.#stored.size > before
  }

  /** Takes note of a kind that is used here. Refuses what `timer()` did not make. */
  use(kind: TimerKind<never> | TimerKind<unknown>): void {
    if (!isKind(kind)) {
      throw new InvalidInputError('unknown-kind', `a kind is what timer('name') answers, got ${shown(kind)}`)
    }
    this.#used.add(kind.name)
  }

  /** The name of a kind, as far as it is known without asking the store. */
  knownNameOf(kind: AnyKind): string | undefined {
    if (typeof kind === 'string') return this.#used.has(kind) || this.#stored.has(kind) ? kind : undefined
    this.use(kind)
    return kind.name
  }

  /** The name of a kind, whether or not there is one of it yet. */
  newNameOf(kind: AnyKind): string {
    if (typeof kind === 'string') checkKind(kind)
    else this.use(kind)
    return typeof kind === 'string' ? kind : kind.name
  }

  /** The name of a kind that there is; any other is refused. */
  async nameOf(kind: AnyKind): Promise<string> {
    const known = this.knownNameOf(kind)
    if (known !== undefined) return known
    // Another instance may have come to know it since.
    await this.look()
    const name = this.knownNameOf(kind)
    if (name !== undefined) return name
    throw new InvalidInputError(
      'unknown-kind',
      `nobody has set or handled timers of the kind ${shown(kind)} in this namespace; known are ${this.#listed()}`,
    )
  }

  /** Whether other instances know of it. */
  isStored(name: string): boolean {
    return this.#stored.has(name)
  }

  /** Lets other instances know of a kind. That may wait: where the store is in trouble, the next time does it. */
  async remember(name: string): Promise<void> {
    if (this.#stored.has(name)) return
    // At once, so that it is written by one of many callers.
    this.#stored.add(name)
    try {
      await this.#store.putSetting(this.#prefix + name, 'known', 0)
    } catch (error) {
      this.#stored.delete(name)
      this.#onTrouble('putSetting', error)
    }
  }

  /** Lets other instances know of all that are used here. */
  async rememberAll(): Promise<void> {
    await Promise.all([...this.#used].map((name) => this.remember(name)))
  }

  #listed(): string {
    const { names } = this
    if (names.length === 0) return 'none so far'
    return names.length > 10 ? `${names.slice(0, 10).join(', ')}, …` : names.join(', ')
  }
}
