import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { schedulesOf } from '../../api/composed.ts'
import type { ScheduleRow } from '../../api/types.ts'
import { useResource } from '../../state/resource.ts'
import { href, route, setQuery, timerHref } from '../../state/router.ts'
import { can } from '../../state/session.ts'
import { Badge, Button, Empty, Heading, Loaded, When } from '../../ui/basics.tsx'
import { TextField } from '../../ui/form.tsx'
import { count, shortInstant } from '../../ui/format.ts'
import { type IconName } from '../../ui/icon.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { now } from '../../state/clock.ts'
import { shownZone } from '../../state/preferences.ts'
import { askRun } from '../timer/timer-actions.tsx'
import { StateBadge } from '../timers/state-badge.tsx'

const ROWS = 50

/** Every recurring timer: when it fires in words, its zone, how it went, and when it comes next. */
export function SchedulesView(): JSX.Element {
  const { query } = route.value
  const kind = query.get('kind') ?? ''
  const keyPart = query.get('key') ?? ''
  const cursors = useSignal<readonly string[]>([])
  const cursor = cursors.value.at(-1)
  const schedules = useResource(
    `schedules ${kind} ${keyPart} ${cursor ?? ''}`,
    (api, signal) => schedulesOf(api, { kind, keyPart, cursor, limit: ROWS }, signal),
    { live: true, everyMs: 30_000 },
  )
  const change = (changed: { kind?: string; key?: string }): void => {
    cursors.value = []
    setQuery(changed)
  }
  return (
    <>
      <Heading title="Schedules" note="Timers that recur.">
        {can('write') && (
          <a class="button main" href={href(['set'], { when: 'schedule' })}>
            New schedule
          </a>
        )}
      </Heading>
      <form
        class="filters"
        role="search"
        aria-label="Filter schedules"
        onSubmit={(event) => event.preventDefault()}
      >
        <div class="filter-row">
          <TextField label="Kind" value={kind} input={(value) => change({ kind: value })} maxLength={128} />
          <TextField
            label="Key contains"
            type="search"
            value={keyPart}
            input={(value) => change({ key: value })}
            maxLength={512}
          />
        </div>
      </form>
      <Loaded from={schedules} what="schedules">
        {({ items, cursor: next }) => (
          <>
            {items.length === 0 ? (
              <Empty title={next === undefined ? 'No timer recurs here.' : 'None found so far.'} />
            ) : (
              <Table label="Schedules" columns={columns} rows={items} keyOf={({ handle }) => handle} />
            )}
            {(next !== undefined || cursors.value.length > 0) && (
              <nav class="pager" aria-label="Pages">
                <Button
                  disabled={cursors.value.length === 0}
                  onClick={() => (cursors.value = cursors.value.slice(0, -1))}
                >
                  Previous
                </Button>
                <span>Page {count(cursors.value.length + 1)}</span>
                <Button
                  disabled={next === undefined}
                  onClick={() => (cursors.value = [...cursors.value, next!])}
                >
                  Next
                </Button>
              </nav>
            )}
          </>
        )}
      </Loaded>
    </>
  )
}

const columns: readonly Column<ScheduleRow>[] = [
  { title: 'State', label: 'State', cell: (row) => <StateBadge timer={{ ...row, dueAt: row.nextAt }} /> },
  {
    title: 'Timer',
    label: 'Timer',
    class: 'wide',
    cell: ({ kind, key }) => (
      <span class="two-lines">
        <a class="name" href={timerHref(kind, key)}>
          {key}
        </a>
        <span class="muted name">{kind}</span>
      </span>
    ),
  },
  {
    title: 'When',
    label: 'When',
    class: 'wide',
    cell: ({ description }) => description,
  },
  {
    title: 'Last',
    label: 'Last',
    cell: ({ lastAt, lastOutcomes }) => <Last at={lastAt} outcomes={lastOutcomes} />,
  },
  {
    title: 'Next',
    label: 'Next',
    cell: ({ nextAt, zone }) => (
      <span class="two-lines">
        <When at={nextAt} />
        {zone !== undefined && shortInstant(nextAt, zone, 0) !== shortInstant(nextAt, shownZone(), 0) && (
          <span class="muted">
            {shortInstant(nextAt, zone, now.value)} in {zone}
          </span>
        )}
      </span>
    ),
  },
  {
    title: 'Runs',
    label: 'Runs',
    isNumber: true,
    cell: ({ occurrence, missed }) => (
      <span>
        {count(occurrence)}
        {missed !== undefined && missed > 0 && <Badge tone="warn">{count(missed)} missed</Badge>}
      </span>
    ),
  },
  {
    title: 'Actions',
    label: 'Actions',
    cell: (row) =>
      can('write') ? (
        <span class="row-actions">
          <Button tone="quiet" aria-label={`Run now: ${row.key}`} onClick={() => askRun(row)}>
            Run now
          </Button>
          <a
            class="button quiet"
            aria-label={`Edit ${row.key}`}
            href={href(['set'], { kind: row.kind, key: row.key, from: 'edit' })}
          >
            Edit
          </a>
        </span>
      ) : (
        <span class="muted">–</span>
      ),
  },
]

const outcomeIcons: Readonly<Record<string, readonly ['good' | 'warn' | 'bad', IconName]>> = {
  settled: ['good', 'done'],
  attempt: ['warn', 'retry'],
  dead: ['bad', 'dead'],
  missed: ['warn', 'clock'],
}

function Last({
  at,
  outcomes,
}: {
  readonly at: number | undefined
  readonly outcomes: ScheduleRow['lastOutcomes']
}): JSX.Element {
  const last = outcomes[0]
  const [tone, icon] = (last && outcomeIcons[last.event]) ?? ['good', 'done']
  return (
    <span class="two-lines">
      <When at={at} both={false} />
      {last !== undefined && (
        <Badge tone={tone} icon={icon} {...(last.reason !== undefined && { title: last.reason })}>
          {last.event}
        </Badge>
      )}
    </span>
  )
}
