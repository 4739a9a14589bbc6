import type { JSX } from 'preact'
import type { MaintenanceJob } from '../../api/types.ts'
import { useResource } from '../../state/resource.ts'
import { api, can } from '../../state/session.ts'
import { Badge, Button, Card, Loaded, Notice, When } from '../../ui/basics.tsx'
import { ask } from '../../ui/dialog.tsx'
import { bytes, count, duration } from '../../ui/format.ts'

const tasks = {
  verify: {
    title: 'Verify',
    text: 'Reads everything in the store and checks it against its checksums. It may take minutes; timers fire meanwhile.',
  },
  backup: {
    title: 'Back up',
    text: 'Copies the file store into the backup folder of the server. Timers fire meanwhile.',
  },
  compact: {
    title: 'Compact',
    text: 'Rewrites the file of the store without its free space. Timers fire meanwhile.',
  },
} as const

/** Work on the store itself. */
export function MaintenanceCard(): JSX.Element {
  const jobs = useResource(
    'maintenance',
    (current, signal) => current.get<{ jobs: readonly MaintenanceJob[] }>('/v1/maintenance', {}, signal),
    { everyMs: 3000 },
  )
  return (
    <Card
      title="The store"
      actions={
        can('admin') &&
        (Object.keys(tasks) as (keyof typeof tasks)[]).map((task) => (
          <Button key={task} onClick={() => askFor(task)}>
            {tasks[task].title}
          </Button>
        ))
      }
    >
      <Loaded from={jobs} what="work on the store">
        {({ jobs: list }) =>
          list.length === 0 ? (
            <p class="muted">Nothing was done since this instance started.</p>
          ) : (
            <ul class="event-list">
              {list.map((job) => (
                <li key={`${job.what} ${job.startedAt}`}>
                  <Badge
                    tone={
                      job.state === 'failed' || (job.found?.damageCount ?? 0) > 0
                        ? 'bad'
                        : job.state === 'done'
                          ? 'good'
                          : 'info'
                    }
                    icon={job.state === 'failed' ? 'failed' : job.state === 'done' ? 'done' : 'play'}
                  >
                    {job.what} {job.state}
                  </Badge>
                  <span>{detailsOf(job)}</span>
                  <When at={job.startedAt} both={false} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  )
}

function askFor(task: keyof typeof tasks): void {
  ask({
    title: `${tasks[task].title} the store?`,
    body: <Notice>{tasks[task].text}</Notice>,
    action: tasks[task].title,
    run: async () => {
      await api.value.send('POST', `/v1/${task}`)
      return 'It has started.'
    },
  })
}

function detailsOf({
  found,
  bytes: size,
  bytesBefore,
  name,
  detail,
  startedAt,
  endedAt,
  progress,
}: MaintenanceJob): string {
  const { checkedRows, totalRows, copiedBytes, totalBytes } = progress ?? {}
  return [
    detail,
    name,
    found !== undefined && `${count(found.rows)} rows, ${count(found.damageCount)} damages`,
    size !== undefined && bytesBefore !== undefined && `${bytes(bytesBefore)} to ${bytes(size)}`,
    endedAt === undefined &&
      checkedRows !== undefined &&
      totalRows !== undefined &&
      `${count(checkedRows)} of about ${count(totalRows)} rows`,
    endedAt === undefined &&
      copiedBytes !== undefined &&
      totalBytes !== undefined &&
      `${bytes(copiedBytes)} of ${bytes(totalBytes)}`,
    endedAt !== undefined && `took ${duration(endedAt - startedAt)}`,
  ]
    .filter(Boolean)
    .join(', ')
}
