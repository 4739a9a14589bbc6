import { CarillonError, type ErrorCode, RequestError, StateError } from '../error/index.js'
import type { CopyProgress, Store, StoreMaintenance } from '../store/index.js'
import type { Clock } from '../time/index.js'

/** A backup or a compaction. */
export interface MaintenanceJob {
  readonly what: 'backup' | 'compact'
  readonly state: 'running' | 'done' | 'failed'
  readonly startedAt: number
  readonly endedAt?: number
  /** The folder of a backup, within the configured one. */
  readonly name?: string
  /** How large the store's file was at the start. */
  readonly bytesBefore: number
  /** How large the copy or the compacted file is. */
  readonly bytes?: number
  readonly progress?: CopyProgress
  readonly code?: ErrorCode
  readonly detail?: string
}

/**
 * Backups and compactions of the store while it is served. A backup goes to a folder that was configured at the start;
 * a caller names no path. The last job of each kind is remembered until the next one.
 *
 * Proven by test/server/maintenance.test.ts.
 */
export class Maintenance {
  readonly #store: Store
  readonly #clock: Clock
  readonly #backupFolder: string | undefined
  readonly #onEnd: (job: MaintenanceJob, error?: unknown) => void
  readonly #last = new Map<MaintenanceJob['what'], MaintenanceJob>()
  #running: Promise<void> | undefined

  constructor(parts: {
    store: Store
    clock: Clock
    backupFolder: string | undefined
    onEnd: (job: MaintenanceJob, error?: unknown) => void
  }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#backupFolder = parts.backupFolder
    this.#onEnd = parts.onEnd
  }

  /** The running job and the last one of each kind. */
  get jobs(): readonly MaintenanceJob[] {
    return [...this.#last.values()].map((job) => this.#withProgress(job))
  }

  startBackup(): MaintenanceJob {
    const maintenance = this.#maintenance('back it up with the tools of its database')
    const folder = this.#backupFolder
    if (folder === undefined) {
      throw new RequestError(
        'not-over-http',
        'this server has no folder for backups: start it with --backup-folder',
      )
    }
    const name = `carillon-${new Date(this.#clock.now()).toISOString().replace(/[:.]/g, '-')}`
    return this.#start({ what: 'backup', name }, () => maintenance.backup(`${folder}/${name}`))
  }

  startCompaction(): MaintenanceJob {
    const maintenance = this.#maintenance('its database frees space by itself')
    return this.#start({ what: 'compact' }, () => maintenance.compact())
  }

  /** Waits for the running job. */
  async idle(): Promise<void> {
    await this.#running
  }

  #withProgress(job: MaintenanceJob): MaintenanceJob {
    const progress = job.state === 'running' ? this.#store.maintenance?.progress() : undefined
    return progress === undefined ? job : { ...job, progress }
  }

  #maintenance(advice: string): StoreMaintenance {
    const { maintenance, name } = this.#store
    if (maintenance !== undefined) return maintenance
    throw new RequestError('not-over-http', `a server cannot do this for a ${name} store: ${advice}`)
  }

  #start(
    job: Pick<MaintenanceJob, 'what' | 'name'>,
    run: () => Promise<{ readonly bytes: number }>,
  ): MaintenanceJob {
    if (this.#running !== undefined)
      throw new StateError(
        'maintenance-running',
        'a backup or a compaction is running: see GET /v1/maintenance',
      )
    const started: MaintenanceJob = {
      ...job,
      state: 'running',
      startedAt: this.#clock.now(),
      bytesBefore: this.#store.maintenance!.size(),
    }
    this.#last.set(job.what, started)
    this.#running = this.#finish(started, run).finally(() => (this.#running = undefined))
    return started
  }

  async #finish(started: MaintenanceJob, run: () => Promise<{ readonly bytes: number }>): Promise<void> {
    let ended: MaintenanceJob
    let failure: unknown
    try {
      const { bytes } = await run()
      ended = { ...started, state: 'done', endedAt: this.#clock.now(), bytes }
    } catch (error) {
      failure = error
      const { code, message } =
        error instanceof CarillonError
          ? error
          : { code: 'internal' as const, message: 'unexpected error: see the log' }
      ended = { ...started, state: 'failed', endedAt: this.#clock.now(), code, detail: message }
    }
    this.#last.set(started.what, ended)
    this.#onEnd(ended, failure)
  }
}
