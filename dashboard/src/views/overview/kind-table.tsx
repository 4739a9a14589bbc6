import type { JSX } from 'preact'
import type { KindOverview } from '../../api/types.ts'
import { now } from '../../state/clock.ts'
import { href } from '../../state/router.ts'
import { Badge } from '../../ui/basics.tsx'
import { compact, count, duration, plural, rate } from '../../ui/format.ts'
import { type Column, Table } from '../../ui/table.tsx'

const columns: readonly Column<KindOverview>[] = [
  {
    title: 'Kind',
    label: 'Kind',
    class: 'wide',
    cell: ({ kind }) => (
      <a class="name" href={href(['timers'], { kind })}>
        {kind}
      </a>
    ),
  },
  { title: 'State', label: 'State', cell: (kind) => <KindState kind={kind} /> },
  {
    title: 'Pending',
    label: 'Pending',
    isNumber: true,
    cell: ({ pending }) => <span title={count(pending)}>{compact(pending)}</span>,
  },
  {
    title: 'Overdue',
    label: 'Overdue',
    isNumber: true,
    cell: ({ overdue, isOverdueExact, oldestDueAt }) => (
      <span class={overdue > 0 ? 'bad-text' : 'muted'}>
        {isOverdueExact ? '' : '≥ '}
        {compact(overdue)}
        {overdue > 0 && oldestDueAt !== undefined && ` (${duration(now.value - oldestDueAt)})`}
      </span>
    ),
  },
  { title: 'Running', label: 'Running', isNumber: true, cell: ({ inFlight }) => compact(inFlight) },
  {
    title: 'Fired/s',
    label: 'Fired a second',
    isNumber: true,
    cell: ({ perSecond }) => rate(perSecond.fired),
  },
  {
    title: 'Failed/s',
    label: 'Failed a second',
    isNumber: true,
    cell: ({ perSecond }) => (
      <span class={perSecond.failed > 0 ? 'bad-text' : 'muted'}>{rate(perSecond.failed)}</span>
    ),
  },
  {
    title: 'Lateness p99',
    label: 'Lateness p99',
    isNumber: true,
    cell: ({ lateness }) =>
      lateness === undefined ? <span class="muted">–</span> : duration(lateness.p99Ms),
  },
  { title: 'Retrying', label: 'Retrying', isNumber: true, cell: ({ retrying }) => compact(retrying) },
  {
    title: 'Dead',
    label: 'Dead',
    isNumber: true,
    cell: ({ dead, kind }) =>
      dead === 0 ? <span class="muted">0</span> : <a href={href(['dead'], { kind })}>{compact(dead)}</a>,
  },
]

export function KindTable({ kinds }: { readonly kinds: readonly KindOverview[] }): JSX.Element {
  return <Table label="Kinds" columns={columns} rows={kinds} keyOf={({ kind }) => kind} />
}

/** Why a kind fires, or why it does not. */
function KindState({ kind }: { readonly kind: KindOverview }): JSX.Element {
  const { pause, breaker, handledBy, target } = kind
  if (pause !== undefined)
    return (
      <Badge tone="warn" icon="pause" {...(pause.note !== undefined && { title: pause.note })}>
        paused
      </Badge>
    )
  if (breaker !== undefined)
    return (
      <Badge tone="bad" icon="failed">
        {breaker === 'open' ? 'target fails' : breaker === 'gone' ? 'target gone' : 'target refused'}
      </Badge>
    )
  if (handledBy.length === 0)
    return (
      <Badge tone="warn" icon="dead">
        nobody handles it
      </Badge>
    )
  return (
    <Badge tone="good" icon="done" title={plural(handledBy.length, 'instance')}>
      {target?.type ?? 'handler'}
    </Badge>
  )
}
