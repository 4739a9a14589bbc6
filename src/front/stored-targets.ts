import {
  decodeTargetForm,
  encodeTargetForm,
  type Guard,
  type ParsedTarget,
  parseTargetForm,
  type TargetForm,
  type TargetView,
  viewOfTarget,
} from '../delivery/index.js'
import { InvalidInputError, LimitError } from '../error/index.js'
import type { Setting, Store } from '../store/index.js'

/** 'refused': what the store has cannot be used here, so timers of the kind wait. */
export type StoredTarget = ParsedTarget | 'refused' | undefined

const MOST_TARGETS = 10_000

/**
 * Targets of kinds, kept in the store's settings so that every instance sends to them. Beside them stands a stamp that
 * every change renews: whoever looks for changes reads only that, unless there are some.
 */
export class StoredTargets {
  readonly #store: Store
  readonly #prefix: string
  readonly #stampName: string
  readonly #guard: Guard | undefined
  readonly #onChange: (kind: string, target: StoredTarget) => void
  readonly #onTrouble: (call: string, error: unknown) => void
  // By kind, the versions that are in use here.
  readonly #versions = new Map<string, number>()
  #stamp: number | undefined
  #looking: Promise<unknown> = Promise.resolve()

  constructor(parts: {
    store: Store
    namespace: string
    guard: Guard | undefined
    onChange: (kind: string, target: StoredTarget) => void
    onTrouble: (call: string, error: unknown) => void
  }) {
    this.#store = parts.store
    // Encoded, so that a slash in its name does not make it part of another namespace.
    this.#prefix = `target/${encodeURIComponent(parts.namespace)}/`
    this.#stampName = `target-stamp/${encodeURIComponent(parts.namespace)}/`
    this.#guard = parts.guard
    this.#onChange = parts.onChange
    this.#onTrouble = parts.onTrouble
  }

  /** Looks at the store again, and tells what has changed. One after the other, so that none undoes a later one. */
  look(): Promise<void> {
    const look = this.#looking.then(() => this.#look())
    this.#looking = look.catch(() => undefined)
    return look
  }

  /** Keeps a target for a kind in place of what it had. One that cannot be used is refused. */
  async set(kind: string, form: TargetForm): Promise<TargetView> {
    // As JSON has it, and nothing else.
    const plain = decodeTargetForm(JSON.stringify(form ?? null))
    for (;;) {
      const standing = await this.#find(kind)
      const kept = keptSecret(plain, standing)
      parseTargetForm(kept, this.#guard)
      if (standing === undefined && this.#versions.size >= MOST_TARGETS)
        throw new LimitError('too-many-targets', `there are ${this.#versions.size} targets already`)
      const text = encodeTargetForm(kept)
      const version = await this.#store.putSetting(this.#prefix + kind, text, standing?.version ?? 0)
      // Somebody else was quicker: what is kept of the one before may have changed.
      if (version === undefined) continue
      await this.#changed()
      return viewOfTarget(kind, version, kept)
    }
  }

  async remove(kind: string): Promise<'removed' | 'unknown'> {
    if ((await this.#find(kind)) === undefined) return 'unknown'
    await this.#store.putSetting(this.#prefix + kind, undefined)
    await this.#changed()
    return 'removed'
  }

  async get(kind: string): Promise<TargetView | undefined> {
    const setting = await this.#find(kind)
    return setting && viewOfTarget(kind, setting.version, decodeTargetForm(setting.value))
  }

  /** All there are, by the names of their kinds. */
  async list(): Promise<readonly TargetView[]> {
    const settings = await this.#store.settings(this.#prefix)
    return settings
      .map(({ name, value, version }) => viewOfTarget(this.#kindOf(name), version, decodeTargetForm(value)))
      .toSorted((a, b) => (a.kind < b.kind ? -1 : 1))
  }

  async #changed(): Promise<void> {
    await this.#store.putSetting(this.#stampName, 'changed')
    await this.look()
  }

  async #look(): Promise<void> {
    const [stamp] = await this.#store.settings(this.#stampName)
    if (stamp?.version === this.#stamp) return
    const settings = await this.#store.settings(this.#prefix)
    // What was written meanwhile has renewed the stamp since, and is looked at again the next time.
    this.#stamp = stamp?.version
    const gone = new Set(this.#versions.keys())
    for (const setting of settings) {
      const kind = this.#kindOf(setting.name)
      gone.delete(kind)
      if (this.#versions.get(kind) === setting.version) continue
      this.#versions.set(kind, setting.version)
      this.#onChange(kind, this.#read(setting))
    }
    for (const kind of gone) {
      this.#versions.delete(kind)
      this.#onChange(kind, undefined)
    }
  }

  #read({ value }: Setting): StoredTarget {
    try {
      return parseTargetForm(decodeTargetForm(value), this.#guard)
    } catch (error) {
      // Written by a newer version, or where the guard allows more.
      this.#onTrouble('target', error)
      return 'refused'
    }
  }

  async #find(kind: string): Promise<Setting | undefined> {
    const name = this.#prefix + kind
    return (await this.#store.settings(name)).find((setting) => setting.name === name)
  }

  #kindOf(name: string): string {
    return name.slice(this.#prefix.length)
  }
}

/** A webhook that names no secret keeps the one it has. */
function keptSecret(form: TargetForm, standing: Setting | undefined): TargetForm {
  if (form?.type !== 'webhook' || form.secret !== undefined) return form
  const before = standing && decodeTargetForm(standing.value)
  if (before?.type === 'webhook' && before.secret !== undefined) return { ...form, secret: before.secret }
  throw new InvalidInputError(
    'invalid-secret',
    "a webhook needs a secret, for instance 'whsec_' + randomBytes(32).toString('base64')",
  )
}
