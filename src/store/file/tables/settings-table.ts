import { InvalidInputError, shown } from '../../../error/index.js'
import type { Setting } from '../../store.js'
import type { Batch } from '../lmdb/batch.js'
import type { Environment } from '../lmdb/environment.js'

const MAX_NAME_BYTES = 512
const COUNTER = 'settings'

/** The settings. They are few and often read, so all of them are in memory too. */
export class SettingsTable {
  readonly #settings = new Map<string, Setting>()
  #lastVersion = 0

  restore(environment: Environment): void {
    this.#lastVersion = Number(environment.getMeta(COUNTER) ?? 0)
    for (const { value } of environment.tables.settings.getRange()) {
      const setting = JSON.parse(value.toString()) as Setting
      this.#settings.set(setting.name, setting)
    }
  }

  list(prefix: string): Setting[] {
    return [...this.#settings.values()].filter(({ name }) => name.startsWith(prefix))
  }

  put(
    batch: Batch,
    name: string,
    value: string | undefined,
    ifVersion: number | undefined,
  ): number | undefined {
    const key = Buffer.from(name)
    if (key.length === 0 || key.length > MAX_NAME_BYTES) {
      throw new InvalidInputError(
        'invalid-option',
        `the name of a setting must have 1 to ${MAX_NAME_BYTES} bytes, got ${shown(name)}`,
      )
    }
    const before = this.#settings.get(name)
    if (ifVersion !== undefined && ifVersion !== (before?.version ?? 0)) return undefined
    // One counter for the whole store: a setting that was removed and put again never gets an old version.
    const version = ++this.#lastVersion
    batch.put('meta', Buffer.from(COUNTER), Buffer.from(String(version)))
    if (value === undefined) {
      this.#settings.delete(name)
      batch.remove('settings', key)
    } else {
      const setting = { name, value, version }
      this.#settings.set(name, setting)
      batch.put('settings', key, Buffer.from(JSON.stringify(setting)))
    }
    batch.onUndo(() => {
      this.#lastVersion = version - 1
      if (before === undefined) this.#settings.delete(name)
      else this.#settings.set(name, before)
    })
    return version
  }
}
