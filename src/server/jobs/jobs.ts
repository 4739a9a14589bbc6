import { randomBytes } from 'node:crypto'
import { CarillonError, LimitError } from '../../error/index.js'
import { type Clock, parseDuration, type Wake } from '../../time/index.js'
import {
  JOB_BATCH_PAUSES,
  JOB_BATCH_ROWS,
  JOB_PART_MS,
  MAX_KEPT_JOBS,
  MAX_RUNNING_JOBS,
} from '../defaults.js'
import type { Job, JobRequest, JobTask } from './job.js'
import { changeTargets, type JobOutcome, type JobTarget, targetsOf } from './job-targets.js'

interface RunningJob {
  job: Job
  readonly request: JobRequest
  isStopping: boolean
}

/**
 * Changes to everything that matches a filter. A job runs in the background, in parts, at most at its rate; it can be
 * watched and stopped. It lives in the memory of one instance: if that instance stops, the job ends where it is, and what
 * it has changed stays changed.
 *
 * Proven by test/server/jobs.test.ts.
 */
export class Jobs {
  readonly #clock: Clock
  readonly #member: () => string
  readonly #onEnd: (job: Job, error: unknown) => void
  readonly #jobs = new Map<string, RunningJob>()
  readonly #running = new Set<Promise<void>>()
  #pause: { readonly wake: Wake; readonly resolve: () => void } | undefined
  #isStopped = false

  constructor(clock: Clock, member: () => string, onEnd: (job: Job, error: unknown) => void) {
    this.#clock = clock
    this.#member = member
    this.#onEnd = onEnd
  }

  /** The jobs of a namespace on this instance, the newest first. */
  of(namespace: string): readonly Job[] {
    const jobs = [...this.#jobs.values()].map(({ job }) => job)
    return jobs.filter((job) => job.namespace === namespace).toReversed()
  }

  start(request: JobRequest): Job {
    if (this.#running.size >= MAX_RUNNING_JOBS)
      throw new LimitError(
        'too-many-jobs',
        `${MAX_RUNNING_JOBS} jobs are running on this instance: wait for one, or stop it`,
      )
    const { task, namespace, by, perSecond } = request
    const job: Job = {
      id: randomBytes(9).toString('hex'),
      action: task.action,
      namespace,
      state: 'counting',
      by,
      member: this.#member(),
      startedAt: this.#clock.now(),
      found: 0,
      processed: 0,
      outcomes: {},
      ...(perSecond !== undefined && { perSecond }),
    }
    const running: RunningJob = {
      job,
      request: { ...request, task: absolute(task, job.startedAt) },
      isStopping: false,
    }
    this.#jobs.set(job.id, running)
    this.#forgetOld()
    const run = this.#run(running).finally(() => this.#running.delete(run))
    this.#running.add(run)
    return job
  }

  /** Stops a job of a namespace after the part that it is doing. Undefined if there is none with this id here. */
  stopJob(namespace: string, id: string): Job | undefined {
    const running = this.#jobs.get(id)
    if (running === undefined || running.job.namespace !== namespace) return undefined
    this.#requestStop(running)
    return running.job
  }

  /** Stops all jobs, and waits for what they are doing. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const running of this.#jobs.values()) this.#requestStop(running)
    this.#pause?.resolve()
    await Promise.all(this.#running)
  }

  #requestStop(running: RunningJob): void {
    running.isStopping = true
    const { state } = running.job
    if (state === 'counting' || state === 'running') running.job = { ...running.job, state: 'stopping' }
  }

  async #run(running: RunningJob): Promise<void> {
    let failure: unknown
    try {
      const { timers, task } = running.request
      const targets = await targetsOf(
        timers,
        task,
        (found) => (running.job = { ...running.job, found }),
        () => running.isStopping,
      )
      if (!running.isStopping) running.job = { ...running.job, state: 'running' }
      await this.#change(running, targets)
    } catch (error) {
      failure = error
    }
    const ended = { ...running.job, endedAt: this.#clock.now() }
    running.job =
      failure === undefined
        ? { ...ended, state: ended.processed < ended.found || running.isStopping ? 'stopped' : 'done' }
        : { ...ended, state: 'failed', ...problemOf(failure) }
    this.#onEnd(running.job, failure)
  }

  async #change(running: RunningJob, targets: readonly JobTarget[]): Promise<void> {
    const { timers, task, perSecond } = running.request
    const most = partOf(task, perSecond)
    for (let at = 0; at < targets.length && !running.isStopping; at += most) {
      const startedAt = this.#clock.monotonic()
      const part = targets.slice(at, at + most)
      note(running, await changeTargets(timers, task, part))
      if (perSecond === undefined) continue
      // The parts of a slow job are small, and each takes its share of the time.
      const leftMs = (part.length / perSecond) * 1000 - (this.#clock.monotonic() - startedAt)
      if (leftMs > 0 && at + most < targets.length) await this.#wait(leftMs, running)
    }
  }

  async #wait(ms: number, running: RunningJob): Promise<void> {
    const until = this.#clock.monotonic() + ms
    while (!running.isStopping && !this.#isStopped && this.#clock.monotonic() < until) {
      const stepMs = Math.min(JOB_PART_MS, until - this.#clock.monotonic())
      await new Promise<void>((resolve) => {
        const wake = this.#clock.wakeAfter(stepMs, resolve, { keepAlive: false })
        this.#pause = { wake, resolve }
      })
    }
  }

  #forgetOld(): void {
    for (const [id, { job }] of this.#jobs) {
      if (this.#jobs.size <= MAX_KEPT_JOBS) return
      if (job.endedAt !== undefined) this.#jobs.delete(id)
    }
  }
}

function note(running: RunningJob, results: readonly JobOutcome[]): void {
  const outcomes: Record<string, number> = { ...running.job.outcomes }
  let failed: CarillonError | undefined
  for (const result of results) {
    const outcome = typeof result === 'string' ? result : 'failed'
    if (typeof result !== 'string') failed = result
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  }
  const processed = running.job.processed + results.length
  running.job = { ...running.job, outcomes, processed, ...(failed !== undefined && problemOf(failed)) }
}

/** How many are changed at once. */
function partOf(task: JobTask, perSecond: number | undefined): number {
  const isSlow = task.action === 'pause' || task.action === 'resume'
  const most = isSlow ? JOB_BATCH_PAUSES : JOB_BATCH_ROWS
  if (perSecond === undefined) return most
  return Math.max(1, Math.min(most, Math.floor((perSecond * JOB_PART_MS) / 1000)))
}

/** A due time that does not depend on how long the job takes. */
function absolute(task: JobTask, now: number): JobTask {
  if (task.action !== 'move' || task.when.in === undefined) return task
  return { ...task, when: { at: now + parseDuration(task.when.in) } }
}

function problemOf(error: unknown): Pick<Job, 'code' | 'detail'> {
  return error instanceof CarillonError
    ? { code: error.code, detail: error.message }
    : { code: 'internal', detail: 'unexpected error: see the log' }
}
