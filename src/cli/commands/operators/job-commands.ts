import { InvalidInputError } from '../../../error/index.js'
import { systemClock } from '../../../time/index.js'
import { type Command, exitCodes, flagOption, stringOption } from '../../command.js'
import { apiCommand, instantText } from '../api-command.js'
import { filterBodyOf, filterHelp, filterOptions } from '../filter.js'
import { durationOption, integerOption } from '../options.js'

interface Job {
  readonly id: string
  readonly action: string
  readonly state: string
  readonly by: string
  readonly startedAt: number
  readonly found: number
  readonly processed: number
  readonly outcomes: Readonly<Record<string, number>>
  readonly detail?: string
}

const WATCH_MS = 300
const deadActions = new Set(['redrive', 'discard'])
const ongoing = new Set(['counting', 'running', 'stopping'])

function lineOf({ id, action, state, by, startedAt, found, processed, outcomes, detail }: Job): string {
  const counts = Object.entries(outcomes).map(([outcome, count]) => `, ${count} ${outcome}`)
  const why = detail === undefined ? '' : `: ${detail}`
  return `${id}  ${action}  ${state}  ${processed} of ${found}${counts.join('')}  by ${by} at ${instantText(startedAt)}${why}`
}

const job = apiCommand({
  name: 'job',
  usage: '(cancel | move | fire | pause | resume | redrive | discard) [options]',
  summary: 'Start a change to all timers or dead letters that match a filter. It runs in the server.',
  options: {
    ...filterOptions,
    in: stringOption,
    at: stringOption,
    note: stringOption,
    reason: stringOption,
    all: flagOption,
    'per-second': stringOption,
    wait: flagOption,
  },
  help: [
    ...filterHelp,
    ['--in, --at', 'for move: the new due time'],
    ['--note', 'for pause: why'],
    ['--reason', 'for redrive and discard: only this reason, as carillon dead-groups shows it'],
    ['--all', 'for redrive and discard: every dead letter of the namespace'],
    ['--per-second', 'change at most so many a second'],
    ['--wait', 'wait for the end'],
    ['', 'Count first: carillon list with the same filter and --count, or carillon dead-groups.'],
  ],
  examples: [
    'carillon job cancel --kind remind --tag old --wait',
    "carillon job redrive --kind mail --reason 'HTTP …' --per-second 10",
  ],
  positionals: [1, 1],
  execute: async (context) => {
    const { api, positionals, option, flag, print } = context
    const action = positionals[0]!
    const kind = option('kind')
    const reason = option('reason')
    const isDead = deadActions.has(action)
    const filter = isDead
      ? {
          ...(kind !== undefined && { kind }),
          ...(reason !== undefined && { reason }),
          ...(flag('all') && { all: true }),
        }
      : filterBodyOf(context)
    if (Object.keys(filter).length === 0)
      throw new InvalidInputError('invalid-option', `${action} needs a filter: see carillon job --help`)
    const after = durationOption('--in', option('in'))
    const at = option('at')
    const note = option('note')
    const perSecond = integerOption('--per-second', option('per-second'), 1, 100_000)
    let current = await api.call<Job>('POST', '/v1/jobs', {
      action,
      filter,
      ...(after !== undefined && { in: after }),
      ...(at !== undefined && { at }),
      ...(note !== undefined && { note }),
      ...(perSecond !== undefined && { perSecond }),
    })
    while (flag('wait') && ongoing.has(current.state)) {
      await new Promise<void>((resolve) => void systemClock.wakeAfter(WATCH_MS, resolve))
      current = await api.call<Job>('GET', `/v1/jobs/${current.id}`)
    }
    print(current, lineOf(current))
    return current.state === 'failed' ? exitCodes.failed : undefined
  },
})

const jobs = apiCommand({
  name: 'jobs',
  usage: '[options]',
  summary: 'List the jobs of a namespace, or stop one.',
  options: { stop: stringOption },
  help: [['--stop', 'stop the job with this id']],
  examples: ['carillon jobs', 'carillon jobs --stop 0123456789abcdef01'],
  positionals: [0, 0],
  execute: async ({ api, option, print }) => {
    const id = option('stop')
    if (id === undefined) {
      const answer = await api.call<{ jobs: Job[] }>('GET', '/v1/jobs')
      for (const each of answer.jobs) print(each, lineOf(each))
      return undefined
    }
    const stopped = await api.call<Job>('DELETE', `/v1/jobs/${encodeURIComponent(id)}`)
    print(stopped, lineOf(stopped))
    return undefined
  },
})

/** Changes to many timers that run in the server. */
export const jobCommands: readonly Command[] = [job, jobs]
