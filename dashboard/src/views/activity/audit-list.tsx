import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { AuditEntry, Page } from '../../api/types.ts'
import { useResource } from '../../state/resource.ts'
import { Badge, Button, Card, Empty, Loaded, When } from '../../ui/basics.tsx'
import { type Column, Table } from '../../ui/table.tsx'

/** What operators changed: who, what, when and from where. */
export function AuditList(): JSX.Element {
  const cursors = useSignal<readonly string[]>([])
  const cursor = cursors.value.at(-1)
  const audit = useResource(
    `audit ${cursor ?? ''}`,
    (api, signal) => api.get<Page<AuditEntry>>('/v1/audit', { cursor, limit: 50 }, signal),
    { live: cursor === undefined },
  )
  return (
    <Card>
      <Loaded from={audit} what="audit log">
        {({ items, cursor: next }) => (
          <>
            {items.length === 0 ? (
              <Empty title="No operator has changed anything yet." />
            ) : (
              <Table label="Audit log" columns={columns} rows={items} keyOf={({ id }) => id} />
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
  )
}

const columns: readonly Column<AuditEntry>[] = [
  { title: 'When', label: 'When', cell: ({ at }) => <When at={at} /> },
  { title: 'Who', label: 'Who', cell: ({ key }) => key.name },
  { title: 'What', label: 'What', cell: ({ action }) => <Badge>{action}</Badge> },
  {
    title: 'Subject',
    label: 'Subject',
    class: 'wide',
    cell: ({ subject }) => <span class="name">{subject ?? '–'}</span>,
  },
  {
    title: 'Details',
    label: 'Details',
    class: 'wide',
    cell: ({ details }) => (
      <span class="wrap muted">
        {Object.entries(details ?? {})
          .map(([name, value]) => `${name}: ${String(value)}`)
          .join(', ')}
      </span>
    ),
  },
  { title: 'From', label: 'From', cell: ({ from }) => <span class="name">{from}</span> },
]
