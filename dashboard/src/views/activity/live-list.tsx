import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { events, heldBack, isFeedPaused, type SeenEvent } from '../../state/feed.ts'
import { timerHref } from '../../state/router.ts'
import { Badge, Button, Card, Empty, type Tone, When } from '../../ui/basics.tsx'
import { Select, TextField } from '../../ui/form.tsx'
import { count, duration } from '../../ui/format.ts'
import type { IconName } from '../../ui/icon.tsx'
import { type Column, Table } from '../../ui/table.tsx'

const looks: Readonly<Record<string, readonly [Tone, IconName]>> = {
  set: ['info', 'plus'],
  moved: ['info', 'move'],
  cancelled: ['warn', 'stop'],
  fired: ['good', 'play'],
  done: ['good', 'done'],
  failed: ['bad', 'retry'],
  dead: ['bad', 'dead'],
  'lease-lost': ['warn', 'clock'],
  skipped: ['warn', 'info'],
}

/** Deliveries as they happen, with a filter and a way to hold the list still. */
export function LiveList(): JSX.Element {
  const [type, text] = [useSignal(''), useSignal('')]
  const rows = events.value.filter(
    (event) =>
      event.kind !== undefined &&
      (type.value === '' || event.type === type.value) &&
      (text.value === '' || `${event.kind}/${event.key ?? ''}`.includes(text.value)),
  )
  return (
    <>
      <form
        class="filters"
        role="search"
        aria-label="Filter events"
        onSubmit={(event) => event.preventDefault()}
      >
        <div class="filter-row">
          <Select
            label="Event"
            value={type.value}
            options={[['', 'All'], ...Object.keys(looks).map((name) => [name, name] as const)]}
            choose={(value) => (type.value = value)}
          />
          <TextField
            label="Kind or key contains"
            type="search"
            value={text.value}
            input={(value) => (text.value = value)}
          />
          <Button
            icon={isFeedPaused.value ? 'play' : 'pause'}
            aria-pressed={isFeedPaused.value}
            onClick={() => {
              isFeedPaused.value = !isFeedPaused.value
              heldBack.value = 0
            }}
          >
            {isFeedPaused.value
              ? `Follow again${heldBack.value === 0 ? '' : ` (${count(heldBack.value)} held back)`}`
              : 'Hold still'}
          </Button>
        </div>
      </form>
      <Card>
        {rows.length === 0 ? (
          <Empty title="Nothing happened yet.">
            Events appear here as timers are set, fire, fail and end.
          </Empty>
        ) : (
          <Table
            label="Live events"
            columns={columns}
            rows={rows.slice(0, 100)}
            keyOf={({ number }) => String(number)}
          />
        )}
      </Card>
    </>
  )
}

const columns: readonly Column<SeenEvent>[] = [
  {
    title: 'Event',
    label: 'Event',
    cell: ({ type }) => {
      const [tone, icon] = looks[type] ?? ['plain', 'info']
      return (
        <Badge tone={tone} icon={icon}>
          {type}
        </Badge>
      )
    },
  },
  { title: 'Kind', label: 'Kind', cell: ({ kind }) => <span class="name">{kind}</span> },
  {
    title: 'Key',
    label: 'Key',
    class: 'wide',
    cell: ({ kind, key }) =>
      kind !== undefined && key !== undefined ? (
        <a class="name" href={timerHref(kind, key)}>
          {key}
        </a>
      ) : (
        '–'
      ),
  },
  { title: 'When', label: 'When', cell: ({ at, receivedAt }) => <When at={at ?? receivedAt} both={false} /> },
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
    title: 'Late',
    label: 'Late',
    isNumber: true,
    cell: ({ latenessMs }) => (latenessMs === undefined ? '–' : duration(latenessMs)),
  },
  {
    title: 'Reason',
    label: 'Reason',
    class: 'wide',
    cell: ({ reason }) => <span class="wrap">{reason ?? ''}</span>,
  },
]
