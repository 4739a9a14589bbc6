import { CarillonError, type ErrorCode, RequestError, StateError } from '../error/index.js'
import type {
  CopyProgress,
  InspectProgress,
  Inspection,
  Store,
  StoreInspection,
  StoreMaintenance,
} from '../store/index.js'
import type { Clock } from '../time/index.js'
import { MAX_VERIFY_MS } from './defaults.js'
import { faultOfRow } from './monitor/row-check.js'

/** A backup, a compaction or a deep verification. */
export interface MaintenanceJob {
  readonly what: 'backup' | 'compact' | 'verify'
  readonly state: 'running' | 'done' | 'failed'
  readonly startedAt: number
  readonly endedAt?: number
  /** The folder of a backup, within the configured one. */
  readonly name?: string
  /** How large the store's file was at the start. */
  readonly bytesBefore?: number
  /** How large the copy or the compacted file is. */
  readonly bytes?: number
  readonly progress?: CopyProgress | InspectProgress
  /** What a verification found. */
  readonly found?: Inspection
  readonly code?: ErrorCode
  readonly detail?: string
}

/** How a job ended. */
type Ending = Pick<MaintenanceJob, 'bytes' | 'found'>

/**
 * Backups, compactions and verifications of the store while it is served. A backup goes to a folder that was configured at the start;
 * a caller names no path. The last job of each kind is remembered until the next one.
 *
 * Proven by test/server/maintenance.test.ts and test/server/deep-verify.test.ts.
 */
export class Maintenance {
  readonly #store: Store
  readonly #clock: Clock
  readonly #backupFolder: string | undefined
  readonly #onEnd: (job: MaintenanceJob, error?: unknown) => void
  readonly #last = new Map<MaintenanceJob['what'], MaintenanceJob>()
  readonly #ending = new AbortController()
  #running: Promise<void> | undefined
  #inspected: InspectProgress | undefined

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

  /** Reads every row and every checksum. */
  startVerification(): MaintenanceJob {
    const { inspection, name } = this.#store
    if (inspection === undefined)
      throw new RequestError(
        'not-over-http',
        `a ${name} store is in memory only, so there is nothing to read: use GET /v1/verify`,
      )
    return this.#start({ what: 'verify' }, () => this.#inspect(inspection))
  }

  /** Waits for the running job. A verification ends early, because it changes nothing. */
  async stop(): Promise<void> {
    this.#ending.abort(new StateError('stopped', 'the server was stopped'))
    await this.#running
  }

  async #inspect(inspection: StoreInspection): Promise<Ending> {
    const limit = new AbortController()
    const alarm = this.#clock.wakeAfter(MAX_VERIFY_MS, () =>
      limit.abort(new StateError('not-done', `the verification did not end within ${MAX_VERIFY_MS} ms`)),
    )
    try {
      const found = await inspection.inspect({
        checkRow: faultOfRow,
        onProgress: (progress) => (this.#inspected = progress),
        signal: AbortSignal.any([this.#ending.signal, limit.signal]),
      })
      return { found }
    } finally {
      alarm.cancel()
      this.#inspected = undefined
    }
  }

  #withProgress(job: MaintenanceJob): MaintenanceJob {
    if (job.state !== 'running') return job
    const progress = job.what === 'verify' ? this.#inspected : this.#store.maintenance?.progress()
    return progress === undefined ? job : { ...job, progress }
  }

  #maintenance(advice: string): StoreMaintenance {
    const { maintenance, name } = this.#store
    if (maintenance !== undefined) return maintenance
    throw new RequestError('not-over-http', `a server cannot do this for a ${name} store: ${advice}`)
  }

  #start(job: Pick<MaintenanceJob, 'what' | 'name'>, run: () => Promise<Ending>): MaintenanceJob {
    if (this.#running !== undefined)
      throw new StateError(
        'maintenance-running',
        'a backup, a compaction or a verification is running: see GET /v1/maintenance',
      )
    const { maintenance } = this.#store
    const started: MaintenanceJob = {
      ...job,
      state: 'running',
      startedAt: this.#clock.now(),
      ...(maintenance !== undefined && { bytesBefore: maintenance.size() }),
    }
    this.#last.set(job.what, started)
    this.#running = this.#finish(started, run).finally(() => (this.#running = undefined))
    return started
  }

  async #finish(started: MaintenanceJob, run: () => Promise<Ending>): Promise<void> {
    let ended: MaintenanceJob
    let failure: unknown
    try {
      ended = { ...started, state: 'done', endedAt: this.#clock.now(), ...(await run()) }
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
