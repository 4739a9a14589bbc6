import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { composedUnless } from '../../api/composed.ts'
import type { HistoryEvent, Page } from '../../api/types.ts'
import { useResource } from '../../state/resource.ts'
import { route, setQuery, timerHref } from '../../state/router.ts'
import { Button, Card, Empty, Loaded, When } from '../../ui/basics.tsx'
import { TextField } from '../../ui/form.tsx'
import { count, duration } from '../../ui/format.ts'
import { type Column, Table } from '../../ui/table.tsx'
import { HistoryBadge } from '../timer/timeline.tsx'

/** What the history of the store keeps, newest first. */
export function HistoryList(): JSX.Element {
  const { query } = route.value
  const [kind, key] = [query.get('kind') ?? '', query.get('key') ?? '']
  const cursors = useSignal<readonly string[]>([])
  const cursor = cursors.value.at(-1)
  const history = useResource(
    `history ${kind} ${key} ${cursor ?? ''}`,
    async (api, signal) => {
      const asked = { kind, key, cursor, limit: 50 }
      return await composedUnless<Page<HistoryEvent>>(
        'history, newest first',
        async () => await api.get('/v1/history', { ...asked, order: 'newest' }, signal),
        async () => await api.get('/v1/history', asked, signal),
        'invalid-body',
      )
    },
    { live: cursor === undefined },
  )
  const change = (changed: { kind?: string; key?: string }): void => {
    cursors.value = []
    setQuery(changed)
  }
  return (
    <>
      <form
        class="filters"
        role="search"
        aria-label="Filter the history"
        onSubmit={(event) => event.preventDefault()}
      >
        <div class="filter-row">
          <TextField label="Kind" value={kind} input={(value) => change({ kind: value })} maxLength={128} />
          <TextField
            label="Key"
            value={key}
            input={(value) => change({ key: value })}
            maxLength={512}
            hint="Exactly, with its kind."
          />
        </div>
      </form>
      <Card>
        <Loaded from={history} what="history">
          {({ items, cursor: next }) => (
            <>
              {items.length === 0 ? (
                <Empty title="Nothing is recorded here.">
                  The history keeps failures; the option history of the server keeps more.
                </Empty>
              ) : (
                <Table
                  label="History"
                  columns={columns}
                  rows={items}
                  keyOf={(event) =>
                    `${event.at} ${event.kind} ${event.key} ${event.event} ${event.attempt ?? ''}`
                  }
                />
              )}
              {(next !== undefined || cursors.value.length > 0) && (
                <nav class="pager" aria-label="Pages">
                  <Button
                    disabled={cursors.value.length === 0}
                    onClick={() => (cursors.value = cursors.value.slice(0, -1))}
                  >
                    Newer
                  </Button>
                  <Button
                    disabled={next === undefined}
                    onClick={() => (cursors.value = [...cursors.value, next!])}
                  >
                    Older
                  </Button>
                </nav>
              )}
            </>
          )}
        </Loaded>
      </Card>
    </>
  )
}

const columns: readonly Column<HistoryEvent>[] = [
  { title: 'When', label: 'When', cell: ({ at }) => <When at={at} /> },
  { title: 'What', label: 'What', cell: (event) => <HistoryBadge event={event} /> },
  { title: 'Kind', label: 'Kind', cell: ({ kind }) => <span class="name">{kind}</span> },
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
  {
    title: 'Attempt',
    label: 'Attempt',
    isNumber: true,
    cell: ({ attempt }) => (attempt === undefined ? '–' : count(attempt)),
  },
  {
    title: 'Took',
    label: 'Took',
    isNumber: true,
    cell: ({ durationMs }) => (durationMs === undefined ? '–' : duration(durationMs)),
  },
  {
    title: 'Reason',
    label: 'Reason',
    class: 'wide',
    cell: ({ reason }) => <span class="wrap">{reason ?? ''}</span>,
  },
]
