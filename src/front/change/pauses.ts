import type { CallLimit } from '../../async/index.js'
import type { Store } from '../../store/index.js'

/**
 * The pauses of a namespace: single kinds, or all of them under the empty name. The store's settings keep them for
 * every instance. Due times do not change. Timers that become due wait, and fire when their kind is resumed.
 */
export class Pauses {
  readonly #store: Store
  readonly #prefix: string
  #names: ReadonlySet<string> = new Set()

  constructor(store: Store, namespace: string) {
    this.#store = store
    // Encoded, because a slash in the name would make it part of another namespace.
    this.#prefix = `pause/${encodeURIComponent(namespace)}/`
  }

  isPaused(kind: string): boolean {
    return this.#names.size > 0 && (this.#names.has('') || this.#names.has(kind))
  }

  get current(): { readonly all: boolean; readonly kinds: readonly string[] } {
    return { all: this.#names.has(''), kinds: [...this.#names].filter((name) => name !== '').toSorted() }
  }

  /** Reads the settings again. Returns whether they have changed. */
  async refresh(): Promise<boolean> {
    const settings = await this.#store.settings(this.#prefix)
    const names = new Set(settings.map(({ name }) => name.slice(this.#prefix.length)))
    const isSame = names.size === this.#names.size && [...names].every((name) => this.#names.has(name))
    this.#names = names
    return !isSame
  }

  /** Pauses or resumes a kind; all kinds when `kind` is undefined. */
  async put(kind: string | undefined, isPaused: boolean, limit?: CallLimit): Promise<void> {
    limit?.act()
    await this.#store.putSetting(this.#prefix + (kind ?? ''), isPaused ? 'paused' : undefined)
    await this.refresh()
  }
}
