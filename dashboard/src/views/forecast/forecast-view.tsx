import type { JSX } from 'preact'
import type { Forecast } from '../../api/types.ts'
import { href, route, setQuery } from '../../state/router.ts'
import { Card, Empty, Heading, Loaded } from '../../ui/basics.tsx'
import { compact, count } from '../../ui/format.ts'
import { Table } from '../../ui/table.tsx'
import { ForecastChart, SpanChoice } from './coming-soon.tsx'
import { type Span, spans, useForecast } from './forecast-data.ts'

/** What will be due over the next hour, day or month, by kind, with the herds before they come. */
export function ForecastView(): JSX.Element {
  const given = route.value.query.get('over') as Span | null
  const span = given !== null && Object.hasOwn(spans, given) ? given : 'day'
  const forecast = useForecast(span)
  return (
    <>
      <Heading
        title="Forecast"
        note="What is set now. Timers that recur count with their next occurrence only."
      >
        <SpanChoice span={span} choose={(over) => setQuery({ over })} />
      </Heading>
      <Loaded from={forecast} what="forecast by kind">
        {(data) => (
          <>
            <Card>
              <ForecastChart forecast={data} span={span} />
            </Card>
            <Card title="By kind">
              <ByKind forecast={data} />
            </Card>
          </>
        )}
      </Loaded>
    </>
  )
}

interface KindSum {
  readonly kind: string
  readonly due: number
  readonly overdue: number
}

function ByKind({ forecast }: { readonly forecast: Forecast }): JSX.Element {
  const { kinds, overdue, fromInclusive, sliceMs, others } = forecast
  const until = fromInclusive + others.length * sliceMs
  const named = new Set([...kinds.map(({ kind }) => kind), ...Object.keys(overdue)])
  const rows: KindSum[] = [...named]
    .map((kind) => ({
      kind,
      due: (kinds.find((each) => each.kind === kind)?.counts ?? []).reduce((sum, value) => sum + value, 0),
      overdue: overdue[kind] ?? 0,
    }))
    .filter((row) => row.due + row.overdue > 0)
    .toSorted((a, b) => b.due + b.overdue - (a.due + a.overdue))
  if (rows.length === 0) return <Empty title="Nothing is due in this time." />
  return (
    <Table
      label="Due timers by kind"
      rows={rows}
      keyOf={({ kind }) => kind}
      columns={[
        { title: 'Kind', label: 'Kind', class: 'wide', cell: ({ kind }) => <span class="name">{kind}</span> },
        {
          title: 'Due',
          label: 'Due',
          isNumber: true,
          cell: ({ due }) => <span title={count(due)}>{compact(due)}</span>,
        },
        {
          title: 'Overdue',
          label: 'Overdue',
          isNumber: true,
          cell: (row) => <span class={row.overdue > 0 ? 'bad-text' : 'muted'}>{compact(row.overdue)}</span>,
        },
        {
          title: 'Timers',
          label: 'Timers',
          cell: ({ kind }) => <a href={href(['timers'], { kind, from: fromInclusive, until })}>Show them</a>,
        },
      ]}
    />
  )
}
