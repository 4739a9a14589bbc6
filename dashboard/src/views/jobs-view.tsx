import type { JSX } from 'preact'
import type { Job } from '../api/types.ts'
import { act } from '../state/messages.ts'
import { useResource } from '../state/resource.ts'
import { api, can } from '../state/session.ts'
import { Badge, Button, Card, Empty, Heading, Loaded, Notice, type Tone, When } from '../ui/basics.tsx'
import { count, duration } from '../ui/format.ts'
import type { IconName } from '../ui/icon.tsx'
import type { ViewProps } from './views.tsx'

const RUNNING_MS = 1000
const RESTING_MS = 10_000

/** Changes to many timers or dead letters: how far they are, how they went, and a way to stop them. */
export function JobsView({ path: [id] }: ViewProps): JSX.Element {
  const jobs = useResource(
    'jobs',
    (current, signal) => current.get<{ jobs: readonly Job[] }>('/v1/jobs', {}, signal),
    { everyMs: id === undefined ? RESTING_MS : RUNNING_MS, live: true },
  )
  return (
    <>
      <Heading
        title="Bulk jobs"
        note="A job works on in the server when the page is closed. Start one from a list of timers or dead letters."
      />
      <Loaded from={jobs} what="bulk jobs">
        {({ jobs: list }) =>
          list.length === 0 ? (
            <Empty title="No job has run lately." />
          ) : (
            <>
              {sorted(list, id).map((job) => (
                <JobCard key={job.id} job={job} isNamed={job.id === id} />
              ))}
            </>
          )
        }
      </Loaded>
    </>
  )
}

/** The job that the URL names comes first, then the newest. */
function sorted(jobs: readonly Job[], id: string | undefined): readonly Job[] {
  return jobs.toSorted((a, b) => Number(b.id === id) - Number(a.id === id) || b.startedAt - a.startedAt)
}

function JobCard({ job, isNamed }: { readonly job: Job; readonly isNamed: boolean }): JSX.Element {
  const { action, state, found, processed, outcomes, startedAt, endedAt, by, member, perSecond, detail } = job
  const isOver = state === 'done' || state === 'stopped' || state === 'failed'
  const [tone, icon] = looks[state]
  return (
    <Card
      class={isNamed ? 'job named' : 'job'}
      title={
        <>
          {titles[action]}{' '}
          <Badge tone={tone} icon={icon}>
            {state}
          </Badge>
        </>
      }
      note={
        <>
          by {by} on {member}, <When at={startedAt} both={false} />
          {endedAt !== undefined && `, took ${duration(endedAt - startedAt)}`}
          {perSecond !== undefined && `, at most ${count(perSecond)} a second`}
        </>
      }
      actions={
        !isOver &&
        can('write') && (
          <Button
            tone="bad"
            icon="stop"
            onClick={() =>
              void act('The job stops.', () =>
                api.value.send('DELETE', `/v1/jobs/${encodeURIComponent(job.id)}`),
              )
            }
          >
            Stop
          </Button>
        )
      }
    >
      <p class="job-progress" role="status">
        <progress
          max={Math.max(found, 1)}
          value={isOver && found === 0 ? 1 : processed}
          aria-label={`Progress of ${titles[action]}`}
        />
        <span>
          {count(processed)} of {count(found)}
        </span>
      </p>
      {Object.keys(outcomes).length > 0 && (
        <p>
          {Object.entries(outcomes)
            .map(([outcome, times]) => `${count(times)} ${outcome}`)
            .join(', ')}
        </p>
      )}
      {detail !== undefined && <Notice tone="bad">{detail}</Notice>}
    </Card>
  )
}

const titles: Readonly<Record<Job['action'], string>> = {
  cancel: 'Cancel timers',
  move: 'Move timers',
  fire: 'Fire timers',
  pause: 'Pause timers',
  resume: 'Resume timers',
  redrive: 'Redrive dead letters',
  discard: 'Discard dead letters',
}

const looks: Readonly<Record<Job['state'], readonly [Tone, IconName]>> = {
  counting: ['info', 'search'],
  running: ['info', 'play'],
  stopping: ['warn', 'stop'],
  done: ['good', 'done'],
  stopped: ['warn', 'stop'],
  failed: ['bad', 'failed'],
}
