import type { Store } from '../store/index.js'

/**
 * What is paused, kept in the store's settings so that every instance knows: a kind of a namespace, or all of
 * it. Due times stay as they are; what falls due meanwhile waits, and fires when it is resumed.
 */
export class Pauses {
  readonly #store: Store
  readonly #prefix: string
  #names: ReadonlySet<string> = new Set()

  constructor(store: Store, namespace: string) {
    this.#store = store
    // Encoded, so that a slash in its name does not make it part of another namespace.
    this.#prefix = `pause/${encodeURIComponent(namespace)}/`
  }

  isPaused(kind: string): boolean {
    return this.#names.size > 0 && (this.#names.has('') || this.#names.has(kind))
  }

  get standing(): { readonly all: boolean; readonly kinds: readonly string[] } {
    return { all: this.#names.has(''), kinds: [...this.#names].filter((name) => name !== '').toSorted() }
  }

  /** Looks at the store again. Answers whether anything has changed. */
  async look(): Promise<boolean> {
    const settings = await this.#store.settings(this.#prefix)
    const names = new Set(settings.map(({ name }) => name.slice(this.#prefix.length)))
    const isSame = names.size === this.#names.size && [...names].every((name) => this.#names.has(name))
    this.#names = names
    return !isSame
  }

  /** Pauses or resumes a kind; all kinds when none is named. */
  async put(kind: string | undefined, isPaused: boolean): Promise<void> {
    await this.#store.putSetting(this.#prefix + (kind ?? ''), isPaused ? 'paused' : undefined)
    await this.look()
  }
}
