import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { DeadGroup, DeadGroups, DeadLetter } from '../../api/types.ts'
import { now } from '../../state/clock.ts'
import { useResource } from '../../state/resource.ts'
import { route, setQuery, timerHref } from '../../state/router.ts'
import { can } from '../../state/session.ts'
import { Button, Card, Empty, Heading, Loaded, Notice, When } from '../../ui/basics.tsx'
import { SparkBars } from '../../ui/chart.tsx'
import { Select, TextField } from '../../ui/form.tsx'
import { count, duration } from '../../ui/format.ts'
import { Json } from '../../ui/json.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { lettersOf } from './dead-jobs.ts'
import { askDiscard, askRedrive, type Filter, type Which } from './dead-actions.tsx'

const periods: readonly (readonly [string, string, number | undefined])[] = [
  ['', 'Any time', undefined],
  ['1h', 'Last hour', 3_600_000],
  ['1d', 'Last day', 86_400_000],
  ['7d', 'Last week', 604_800_000],
]

/** Timers that were given up: why, since when, and what to do with them. */
export function DeadView(): JSX.Element {
  const { query } = route.value
  const [kind, key, period, reason] = ['kind', 'key', 'period', 'reason'].map(
    (name) => query.get(name) ?? '',
  ) as [string, string, string, string]
  const periodMs = periods.find(([name]) => name === period)?.[2]
  // Whole minutes, so that the same question is asked again.
  const diedFrom = periodMs === undefined ? undefined : Math.floor((now.peek() - periodMs) / 60_000) * 60_000
  const groups = useResource(
    `dead groups ${kind} ${diedFrom ?? ''}`,
    (api, signal) => api.get<DeadGroups>('/v1/dead/groups', { kind, diedFrom, slices: 24 }, signal),
    { live: true, everyMs: 15_000 },
  )
  return (
    <>
      <Heading
        title="Dead letters"
        note="Timers that were given up. Nothing happens to them until you decide."
      >
        {can('write') && (groups.data?.total ?? 0) > 0 && (
          <>
            <Button icon="retry" onClick={() => askRedrive(wholeOf(kind, diedFrom), groups.data?.total)}>
              Redrive all
            </Button>
            <Button
              icon="trash"
              tone="bad"
              onClick={() => askDiscard(wholeOf(kind, diedFrom), groups.data?.total)}
            >
              Discard all
            </Button>
          </>
        )}
      </Heading>
      <form
        class="filters"
        role="search"
        aria-label="Filter dead letters"
        onSubmit={(event) => event.preventDefault()}
      >
        <div class="filter-row">
          <TextField
            label="Kind"
            value={kind}
            input={(value) => setQuery({ kind: value, reason: '' })}
            maxLength={128}
          />
          <TextField
            label="Key"
            type="search"
            value={key}
            input={(value) => setQuery({ key: value })}
            maxLength={512}
          />
          <Select
            label="Given up"
            value={period}
            options={periods.map(([name, text]) => [name, text] as const)}
            choose={(value) => setQuery({ period: value })}
          />
        </div>
      </form>
      <Loaded from={groups} what="dead letters by reason">
        {(data) =>
          data.total === 0 ? (
            <Empty title="No dead letters.">Every timer that was due was done, or is still tried.</Empty>
          ) : (
            <>
              {!data.isComplete && <Notice>They are still being counted: {count(data.total)} so far.</Notice>}
              <Groups data={data} open={reason} openKind={kind} diedFrom={diedFrom} />
            </>
          )
        }
      </Loaded>
      {key !== '' && (
        <Card title={`Dead letters of the key ${key}`}>
          <Letters which={{ ...(kind !== '' && { kind }), key }} />
        </Card>
      )}
    </>
  )
}

function wholeOf(kind: string, diedFrom: number | undefined): Which {
  const which = { ...(kind !== '' && { kind }), ...(diedFrom !== undefined && { diedFrom }) }
  return Object.keys(which).length === 0 ? { all: true } : which
}

function Groups({
  data,
  open,
  openKind,
  diedFrom,
}: {
  readonly data: DeadGroups
  readonly open: string
  readonly openKind: string
  readonly diedFrom: number | undefined
}): JSX.Element {
  return (
    <ul class="groups">
      {data.groups.map((group) => {
        const isOpen = open === group.reason && (openKind === '' || openKind === group.kind)
        const which: Filter = {
          kind: group.kind,
          reason: group.reason,
          ...(diedFrom !== undefined && { diedFrom }),
        }
        return (
          <li key={`${group.kind} ${group.reason}`} class="card group">
            <GroupHead group={group} sliceMs={data.sliceMs} />
            <div class="actions">
              <Button
                aria-expanded={isOpen}
                onClick={() => setQuery({ reason: isOpen ? '' : group.reason, kind: openKind })}
              >
                {isOpen ? 'Hide the letters' : 'Show the letters'}
              </Button>
              {can('write') && (
                <>
                  <Button icon="retry" onClick={() => askRedrive(which, group.count)}>
                    Redrive {count(group.count)}
                  </Button>
                  <Button icon="trash" tone="bad" onClick={() => askDiscard(which, group.count)}>
                    Discard {count(group.count)}
                  </Button>
                </>
              )}
            </div>
            {isOpen && <Letters which={which} />}
          </li>
        )
      })}
    </ul>
  )
}

function GroupHead({ group, sliceMs }: { readonly group: DeadGroup; readonly sliceMs: number }): JSX.Element {
  return (
    <div class="group-head">
      <p class="group-count">{count(group.count)}</p>
      <div class="group-text">
        <p class="name">{group.kind}</p>
        <p class="wrap reason-text">{group.reason}</p>
        <p class="muted">
          {group.count === 1 ? 'Given up ' : 'The last one '}
          <When at={group.lastAt} both={false} />
          {group.count > 1 && (
            <>
              , the first <When at={group.firstAt} both={false} />
            </>
          )}
        </p>
      </div>
      <SparkBars
        values={group.slices}
        label={`Given up over time, ${duration(sliceMs)} a bar: ${group.slices.join(', ')}`}
      />
    </div>
  )
}

/** Single letters, page by page. */
function Letters({ which }: { readonly which: Filter }): JSX.Element {
  const cursors = useSignal<readonly string[]>([])
  const cursor = cursors.value.at(-1)
  const letters = useResource(
    `dead ${JSON.stringify(which)} ${cursor ?? ''}`,
    (api, signal) => lettersOf(api, which, cursor, signal),
    { live: true },
  )
  return (
    <Loaded from={letters} what="dead letters">
      {({ items, cursor: next }) => (
        <>
          {items.length === 0 ? (
            <Empty title="None is left." />
          ) : (
            <Table label="Dead letters" columns={columns} rows={items} keyOf={({ id }) => id} />
          )}
          {(next !== undefined || cursors.value.length > 0) && (
            <nav class="pager" aria-label="Pages of dead letters">
              <Button
                disabled={cursors.value.length === 0}
                onClick={() => (cursors.value = cursors.value.slice(0, -1))}
              >
                Previous
              </Button>
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
  )
}

const columns: readonly Column<DeadLetter>[] = [
  {
    title: 'Key',
    label: 'Key',
    class: 'wide',
    cell: ({ kind, key }) => (
      <a class="name" href={timerHref(kind, key)}>
        {key}
      </a>
    ),
  },
  { title: 'Given up', label: 'Given up', cell: ({ diedAt }) => <When at={diedAt} /> },
  { title: 'Was due', label: 'Was due', cell: ({ dueAt }) => <When at={dueAt} both={false} /> },
  { title: 'Attempts', label: 'Attempts', isNumber: true, cell: ({ attempts }) => count(attempts) },
  {
    title: 'Reason',
    label: 'Reason',
    class: 'wide',
    cell: ({ reason }) => <span class="wrap">{reason}</span>,
  },
  { title: 'Payload', label: 'Payload', cell: (letter) => <LetterPayload letter={letter} /> },
  {
    title: 'Actions',
    label: 'Actions',
    cell: (letter) =>
      can('write') ? (
        <span class="row-actions">
          <Button
            tone="quiet"
            aria-label={`Redrive ${letter.key}`}
            onClick={() => askRedrive({ ids: [letter.id] }, 1)}
          >
            Redrive
          </Button>
          <Button
            tone="quiet"
            aria-label={`Discard ${letter.key}`}
            onClick={() => askDiscard({ ids: [letter.id] }, 1)}
          >
            Discard
          </Button>
        </span>
      ) : (
        <span class="muted">–</span>
      ),
  },
]

function LetterPayload({ letter }: { readonly letter: DeadLetter }): JSX.Element {
  const isShown = useSignal(false)
  if (letter.payload === undefined) return <span class="muted">none</span>
  if (isShown.value) return <Json value={letter.payload} what="the payload" />
  return (
    <Button
      tone="quiet"
      aria-label={`Show the payload of ${letter.key}`}
      onClick={() => (isShown.value = true)}
    >
      Show
    </Button>
  )
}
