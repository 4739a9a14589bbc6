import type { CallLimit } from '../../async/index.js'
import { InvalidInputError, shown } from '../../error/index.js'
import type { Store } from '../../store/index.js'
import type { PauseView } from '../../timer/index.js'
import { type CallOptions, callOptionNames } from '../call/calls.js'
import { MAX_PAUSE_NOTE_LENGTH } from '../defaults.js'

/** Why something is paused, and by whom. Both are shown to operators and change nothing else. */
export interface PauseOptions extends CallOptions {
  /** Up to 500 characters. */
  readonly note?: string
  /** Who pauses it. A server puts the name of the API key here. */
  readonly by?: string
}

/** What is paused, and why. */
export interface Paused {
  /** Whether the whole namespace is paused. */
  readonly all: boolean
  /** The paused kinds. */
  readonly kinds: readonly string[]
  /** Why the whole namespace is paused. */
  readonly allPause?: PauseView
  /** Why each of the kinds is paused. */
  readonly ofKinds: readonly ({ readonly kind: string } & PauseView)[]
}

export const pauseOptionNames: readonly string[] = ['note', 'by', ...callOptionNames]

/**
 * The pauses of a namespace: single kinds, or all of them under the empty name. The store's settings keep them for
 * every instance. Due times do not change. Timers that become due wait, and fire when their kind is resumed.
 */
export class Pauses {
  readonly #store: Store
  readonly #prefix: string
  #pauses: ReadonlyMap<string, PauseView> = new Map()

  constructor(store: Store, namespace: string) {
    this.#store = store
    // Encoded, because a slash in the name would make it part of another namespace.
    this.#prefix = `pause/${encodeURIComponent(namespace)}/`
  }

  isPaused(kind: string): boolean {
    return this.#pauses.size > 0 && (this.#pauses.has('') || this.#pauses.has(kind))
  }

  /** The pause of the kind itself; undefined if it has none. */
  of(kind: string): PauseView | undefined {
    return this.#pauses.get(kind)
  }

  get current(): Paused {
    const kinds = [...this.#pauses.keys()].filter((name) => name !== '').toSorted()
    const allPause = this.#pauses.get('')
    return {
      all: allPause !== undefined,
      kinds,
      ...(allPause !== undefined && { allPause }),
      ofKinds: kinds.map((kind) => Object.assign({ kind }, this.#pauses.get(kind))),
    }
  }

  /** Reads the settings again. Returns whether other kinds are paused than before. */
  async refresh(): Promise<boolean> {
    const settings = await this.#store.settings(this.#prefix)
    const pauses = new Map(
      settings.map(({ name, value }) => [name.slice(this.#prefix.length), pauseOf(value)] as const),
    )
    const isSame =
      pauses.size === this.#pauses.size && [...pauses.keys()].every((name) => this.#pauses.has(name))
    this.#pauses = pauses
    return !isSame
  }

  /** Pauses a kind, all kinds when `kind` is undefined. Without a pause, it resumes them. */
  async put(kind: string | undefined, pause: PauseView | undefined, limit?: CallLimit): Promise<void> {
    limit?.act()
    await this.#store.putSetting(this.#prefix + (kind ?? ''), pause && JSON.stringify(pause))
    await this.refresh()
  }
}

/** What is stored of a pause that begins now. */
export function newPause({ note, by }: PauseOptions, since: number): PauseView {
  for (const [name, text] of Object.entries({ note, by })) {
    if (text === undefined || (typeof text === 'string' && text.length <= MAX_PAUSE_NOTE_LENGTH)) continue
    throw new InvalidInputError(
      'invalid-option',
      `${name} of a pause must be a string of up to ${MAX_PAUSE_NOTE_LENGTH} characters, got ${shown(text)}`,
    )
  }
  return { since, ...(note !== undefined && { note }), ...(by !== undefined && { by }) }
}

/** A pause as it is stored. Older versions stored only a word. */
function pauseOf(value: string): PauseView {
  return value.startsWith('{') ? (JSON.parse(value) as PauseView) : {}
}
