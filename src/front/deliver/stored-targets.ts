import type { CallLimit } from '../../async/index.js'
import {
  decodeTargetForm,
  encodeTargetForm,
  type Guard,
  keyMissing,
  type ParsedTarget,
  parseTargetForm,
  type TargetForm,
  TargetSeal,
  type TargetView,
  withEarlierSecrets,
  viewOfTarget,
} from '../../delivery/index.js'
import { CarillonError, InvalidInputError, LimitError } from '../../error/index.js'
import type { Setting, Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { MAX_TARGETS } from '../defaults.js'

/**
 * 'refused': this instance cannot use the stored target, so the timers of the kind wait. 'sealed': the same, because it
 * does not have the secret key of the target.
 */
export type StoredTarget = ParsedTarget | 'refused' | 'sealed' | undefined

/**
 * The targets in the store's settings, which all instances use. Every change also writes a stamp. An instance that
 * checks for changes reads only the stamp, unless it has changed. Proven by test/front/targets.test.ts.
 */
export class StoredTargets {
  readonly #store: Store
  readonly #prefix: string
  readonly #stampName: string
  readonly #clock: Clock
  readonly #guard: Guard | undefined
  readonly #seal: TargetSeal | undefined
  readonly #onChange: (kind: string, target: StoredTarget) => void
  readonly #onStoreError: (call: string, error: unknown) => void
  // The version in use here, by kind.
  readonly #versions = new Map<string, number>()
  #stamp: number | undefined
  #refreshing: Promise<unknown> = Promise.resolve()

  constructor(parts: {
    store: Store
    namespace: string
    clock: Clock
    guard: Guard | undefined
    /** Encrypts the targets. Without it they are stored as they are. */
    seal: TargetSeal | undefined
    onChange: (kind: string, target: StoredTarget) => void
    onStoreError: (call: string, error: unknown) => void
  }) {
    this.#store = parts.store
    // Encoded, because a slash in the name would make it part of another namespace.
    this.#prefix = `target/${encodeURIComponent(parts.namespace)}/`
    this.#stampName = `target-stamp/${encodeURIComponent(parts.namespace)}/`
    this.#clock = parts.clock
    this.#guard = parts.guard
    this.#seal = parts.seal
    this.#onChange = parts.onChange
    this.#onStoreError = parts.onStoreError
  }

  /** Reads the settings again and reports changes. One refresh at a time, so that an older one cannot come last. */
  refresh(): Promise<void> {
    const refreshed = this.#refreshing.then(() => this.#refresh())
    this.#refreshing = refreshed.catch(() => undefined)
    return refreshed
  }

  /** Stores a target for a kind, and replaces the previous one. Refuses a target that cannot be used. */
  async set(kind: string, form: TargetForm, limit: CallLimit): Promise<TargetView> {
    // Through JSON, because this is what the store keeps.
    const plain = decodeTargetForm(JSON.stringify(form ?? null))
    if (plain?.type === 'webhook' && plain.earlier !== undefined)
      throw new InvalidInputError('unknown-option', 'earlier is not an option of a target: use grace')
    for (;;) {
      const stored = await this.#find(kind)
      const before = stored && this.#knownFormOf(stored)
      const kept = withEarlierSecrets(keptSecret(plain, before), before, this.#clock.now())
      parseTargetForm(kept, this.#guard)
      if (stored === undefined && this.#versions.size >= MAX_TARGETS)
        throw new LimitError(
          'too-many-targets',
          `this namespace has ${this.#versions.size} targets, the most is ${MAX_TARGETS}`,
        )
      const text = this.#sealed(kind, encodeTargetForm(kept))
      limit.act()
      const version = await this.#store.putSetting(this.#prefix + kind, text, stored?.version ?? 0)
      // Another instance has changed it meanwhile, perhaps also the secret to keep: try again.
      if (version === undefined) continue
      await this.#changed()
      return viewOfTarget(kind, version, kept)
    }
  }

  async remove(kind: string, limit: CallLimit): Promise<'removed' | 'unknown'> {
    if ((await this.#find(kind)) === undefined) return 'unknown'
    limit.act()
    await this.#store.putSetting(this.#prefix + kind, undefined)
    await this.#changed()
    return 'removed'
  }

  async get(kind: string): Promise<TargetView | undefined> {
    const setting = await this.#find(kind)
    return setting && viewOfTarget(kind, setting.version, this.#formOf(setting))
  }

  /** All targets, sorted by kind. */
  async list(): Promise<readonly TargetView[]> {
    const settings = await this.#store.settings(this.#prefix)
    return settings.map((setting) => this.#viewOf(setting)).toSorted((a, b) => (a.kind < b.kind ? -1 : 1))
  }

  async #changed(): Promise<void> {
    await this.#store.putSetting(this.#stampName, 'changed')
    await this.refresh()
  }

  async #refresh(): Promise<void> {
    const [stamp] = await this.#store.settings(this.#stampName)
    if (stamp?.version === this.#stamp) return
    const settings = await this.#store.settings(this.#prefix)
    // The stamp was read first: a target that changed in between has a newer stamp, so the next refresh reads it.
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

  /**
   * Encrypts the targets that are stored as they are, or under an older key. One that another instance changes
   * meanwhile stays as it is.
   */
  async sealAll(): Promise<void> {
    if (this.#seal === undefined) return
    let isChanged = false
    for (const setting of await this.#store.settings(this.#prefix)) {
      if (this.#seal.isCurrent(setting.value)) continue
      try {
        const text = this.#sealed(this.#kindOf(setting.name), this.#opened(setting))
        await this.#store.putSetting(setting.name, text, setting.version)
        isChanged = true
      } catch (error) {
        this.#onStoreError('target', error)
      }
    }
    if (isChanged) await this.#changed()
  }

  #sealed(kind: string, text: string): string {
    return this.#seal === undefined ? text : this.#seal.seal(this.#prefix + kind, text)
  }

  #opened({ name, value }: Setting): string {
    if (!TargetSeal.isSealed(value)) return value
    if (this.#seal === undefined) throw keyMissing('it is sealed, and this instance has no secret key')
    return this.#seal.open(name, value)
  }

  #formOf(setting: Setting): TargetForm {
    return decodeTargetForm(this.#opened(setting))
  }

  /** Undefined if it is sealed with a key that this instance does not have. Then it can still be replaced. */
  #knownFormOf(setting: Setting): TargetForm | undefined {
    try {
      return this.#formOf(setting)
    } catch (error) {
      if (isKeyMissing(error)) return undefined
      throw error
    }
  }

  /** One target that cannot be read must not hide the others. */
  #viewOf(setting: Setting): TargetView {
    const form = this.#knownFormOf(setting)
    const kind = this.#kindOf(setting.name)
    return form === undefined
      ? { kind, version: setting.version, type: 'sealed' }
      : viewOfTarget(kind, setting.version, form)
  }

  #read(setting: Setting): StoredTarget {
    try {
      return parseTargetForm(this.#formOf(setting), this.#guard)
    } catch (error) {
      // A newer version may have written it, or an instance whose guard allows more.
      this.#onStoreError('target', error)
      return isKeyMissing(error) ? 'sealed' : 'refused'
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

function isKeyMissing(error: unknown): boolean {
  return error instanceof CarillonError && error.code === 'secret-key-missing'
}

/** A webhook without a secret keeps its previous one. */
function keptSecret(form: TargetForm, before: TargetForm | undefined): TargetForm {
  if (form?.type !== 'webhook' || form.secret !== undefined) return form
  if (before?.type === 'webhook' && before.secret !== undefined) return { ...form, secret: before.secret }
  throw new InvalidInputError(
    'invalid-secret',
    "a webhook needs a secret, such as 'whsec_' + randomBytes(32).toString('base64')",
  )
}
