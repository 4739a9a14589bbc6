import { InvalidInputError } from '../../../error/index.js'
import { systemClock } from '../../../time/index.js'
import { type Command, exitCodes, stringOption } from '../../command.js'
import { JOB_POLL_MS } from '../../defaults.js'
import type { Inspection } from '../../../store/index.js'
import { apiCommand, type CommandContext } from '../api-command.js'

/** A job of the server. */
export interface Job {
  readonly what: 'backup' | 'compact' | 'verify'
  readonly state: 'running' | 'done' | 'failed'
  readonly startedAt: number
  readonly name?: string
  readonly bytesBefore?: number
  readonly bytes?: number
  readonly progress?:
    | { readonly copiedBytes: number; readonly totalBytes: number }
    | { readonly checkedRows: number; readonly totalRows: number }
  readonly found?: Inspection
  readonly code?: string
  readonly detail?: string
}

const backup = apiCommand({
  name: 'backup',
  usage: '[--store file:… --to <folder>]',
  summary: 'Back up a file store while a server serves it, and wait until it is done.',
  options: { to: stringOption },
  help: [
    ['--to', 'with --store: the folder for the backup. A server has its own: carillon serve --backup-folder'],
    ['', 'The backup is a folder that carillon serve --store file:… opens. It holds payloads and secrets.'],
  ],
  examples: ['carillon backup', 'carillon backup --store file:./carillon-data --to ./backups'],
  positionals: [0, 0],
  execute: async (context) => {
    const hasStore = context.option('store') !== undefined
    if (hasStore !== (context.option('to') !== undefined))
      throw new InvalidInputError('invalid-option', 'pass --store and --to together, or neither')
    return await runJob(
      context,
      'backup',
      ({ name, bytes = 0 }) => `backed up to ${name}: ${megabytes(bytes)}`,
    )
  },
})

const compact = apiCommand({
  name: 'compact',
  usage: '',
  summary: 'Compact a file store while a server serves it, and wait until it is done.',
  options: {},
  help: [['', 'The disk needs space for a second copy of the file meanwhile.']],
  examples: ['carillon compact', 'carillon compact --store file:./carillon-data'],
  positionals: [0, 0],
  execute: (context) =>
    runJob(
      context,
      'compact',
      ({ bytesBefore = 0, bytes = 0 }) => `compacted from ${megabytes(bytesBefore)} to ${megabytes(bytes)}`,
    ),
})

/** Runs a job, and prints how it ended. */
async function runJob(
  context: CommandContext,
  what: Job['what'],
  textOf: (job: Job) => string,
): Promise<number | undefined> {
  const job = await jobEnd(context, what)
  context.print(job, job.state === 'done' ? textOf(job) : failureText(job))
  return job.state === 'done' ? undefined : exitCodes.failed
}

/** Starts a job, reports its progress, and waits for its end. */
export async function jobEnd({ api, terminal, isJson }: CommandContext, what: Job['what']): Promise<Job> {
  let job = await api.call<Job>('POST', `/v1/${what}`)
  const { startedAt } = job
  while (job.state === 'running') {
    await new Promise<void>((resolve) => systemClock.wakeAfter(JOB_POLL_MS, () => resolve()))
    const { jobs } = await api.call<{ jobs: Job[] }>('GET', '/v1/maintenance')
    job = jobs.find((each) => each.what === what && each.startedAt === startedAt) ?? forgotten(job)
    const { progress } = job
    if (progress !== undefined && !isJson)
      terminal.error(
        'copiedBytes' in progress
          ? `${megabytes(progress.copiedBytes)} of at most ${megabytes(progress.totalBytes)}\n`
          : `${progress.checkedRows} of about ${progress.totalRows} rows\n`,
      )
  }
  return job
}

export function failureText({ detail, code }: Job): string {
  return `failed: ${detail} (${code})`
}

/** The server was restarted, or another instance answers now. */
function forgotten(job: Job): Job {
  return {
    ...job,
    state: 'failed',
    code: 'unknown-outcome',
    detail: 'the server no longer knows about it: it was restarted, or another instance answers',
  }
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

/** Commands that copy or shrink the store. */
export const storeCommands: readonly Command[] = [backup, compact]
