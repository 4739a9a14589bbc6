import type { Damage, InspectProgress, Inspection, InspectOptions } from './store.js'

/** How many damages an inspection names. It counts all of them. */
const MAX_NAMED_DAMAGES = 100

/** What an inspection has found so far. */
export class DamageLog {
  rows = 0
  records = 0
  checksums = 0
  readonly #damages: Damage[] = []
  #damageCount = 0
  readonly #options: InspectOptions
  readonly #totalRows: number

  constructor(options: InspectOptions, totalRows: number) {
    this.#options = options
    this.#totalRows = totalRows
  }

  add(where: string, what: string): void {
    this.#damageCount++
    if (this.#damages.length < MAX_NAMED_DAMAGES) this.#damages.push({ where, what })
  }

  /** Reads something that may be damaged. */
  try(where: string, read: () => void): void {
    try {
      read()
    } catch (error) {
      this.add(where, error instanceof Error ? error.message : String(error))
    }
  }

  /** Call it after each page: it reports the progress, and throws if the inspection shall end. */
  step(): void {
    this.#options.signal?.throwIfAborted()
    const progress: InspectProgress = {
      checkedRows: this.rows,
      totalRows: Math.max(this.rows, this.#totalRows),
    }
    this.#options.onProgress?.(progress)
  }

  result(): Inspection {
    return {
      rows: this.rows,
      records: this.records,
      checksums: this.checksums,
      damageCount: this.#damageCount,
      damages: this.#damages,
    }
  }
}
