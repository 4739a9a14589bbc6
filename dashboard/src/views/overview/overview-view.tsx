import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { Cause, Overview, Series } from '../../api/types.ts'
import { useResource } from '../../state/resource.ts'
import { href } from '../../state/router.ts'
import { Button, Card, Choice, Empty, Heading, Loaded } from '../../ui/basics.tsx'
import { Chart, Spark } from '../../ui/chart.tsx'
import { compact, count, duration, rate } from '../../ui/format.ts'
import { ComingSoon } from '../forecast/coming-soon.tsx'
import { can } from '../../state/session.ts'
import { Icon } from '../../ui/icon.tsx'
import { Health } from './health.tsx'
import { KindTable } from './kind-table.tsx'

/** What is coming, how it goes, and what needs somebody. */
export function OverviewView(): JSX.Element {
  const over = useSignal<'1h' | '1d'>('1h')
  const overview = useResource('overview', (api, signal) => api.get<Overview>('/v1/overview', {}, signal), {
    live: true,
    everyMs: 5000,
  })
  const series = useResource(
    `series ${over.value}`,
    (api, signal) => api.get<Series>('/v1/series', { over: over.value }, signal),
    { everyMs: 10_000 },
  )
  const diagnosis = useResource(
    'diagnosis',
    (api, signal) => api.get<{ causes: readonly Cause[] }>('/v1/diagnosis', {}, signal),
    { live: true, everyMs: 10_000 },
  )
  return (
    <>
      <Heading title="Overview" note={<Freshness overview={overview.data} />}>
        {can('write') && (
          <a class="button main" href={href(['set'])}>
            <Icon name="plus" />
            Set a timer
          </a>
        )}
      </Heading>
      <Loaded from={overview} what="overview">
        {(data) => (data.kinds.length === 0 ? <FirstTime /> : <Tiles overview={data} series={series.data} />)}
      </Loaded>
      <Health overview={overview} causes={diagnosis} />
      <div class="columns">
        <Card
          title="Throughput and lateness"
          actions={
            <Choice
              label="Period"
              value={over.value}
              options={[
                ['1h', 'Last hour'],
                ['1d', 'Last day'],
              ]}
              choose={(value) => (over.value = value)}
            />
          }
        >
          <Loaded from={series} what="rates of the last hours">
            {(data) => <Lines series={data} />}
          </Loaded>
        </Card>
        <ComingSoon />
      </div>
      <Loaded from={overview} what="kinds">
        {(data) =>
          data.kinds.length === 0 ? null : (
            <Card
              title="Kinds"
              note={data.moreKinds ? `The first ${count(data.kinds.length)} by name.` : undefined}
              actions={<a href={href(['kinds'])}>Targets and pauses</a>}
            >
              <KindTable kinds={data.kinds} />
            </Card>
          )
        }
      </Loaded>
    </>
  )
}

/** Whether the numbers are complete, in one sentence. */
function Freshness({ overview }: { readonly overview: Overview | undefined }): JSX.Element {
  if (overview === undefined) return <>All timers of the namespace.</>
  const { counted, instances } = overview
  const missing = instances.known - instances.answered
  return (
    <>
      {missing > 0 &&
        `${missing} of ${instances.known} instances did not answer, so rates and running attempts are too low. `}
      {counted.state === 'running' && counted.countedAt === undefined
        ? 'The timers are being counted.'
        : `All timers of the namespace ${overview.namespace}.`}
    </>
  )
}

function Tiles({
  overview: { totals, kinds },
  series,
}: {
  readonly overview: Overview
  readonly series: Series | undefined
}): JSX.Element {
  const perSecond = (name: 'fired' | 'failed'): number =>
    kinds.reduce((sum, kind) => sum + kind.perSecond[name], 0)
  const points = series?.points ?? []
  const last = points.findLast(({ p99Ms }) => p99Ms !== undefined)
  return (
    <ul class="tiles">
      <Tile
        name="Pending"
        value={compact(totals.pending)}
        exact={totals.pending}
        link={href(['timers'])}
        note={
          totals.paused === 0 ? 'none is paused by itself' : `${compact(totals.paused)} paused one by one`
        }
      />
      <Tile
        name="Overdue"
        value={compact(totals.overdue)}
        exact={totals.overdue}
        isBad={totals.overdue > 0}
        link={href(['timers'], { due: 'overdue' })}
        note={totals.overdue === 0 ? 'nothing is late' : `${compact(totals.inFlight)} attempts run`}
      />
      <Tile
        name="Fired a second"
        value={rate(perSecond('fired'))}
        note={`${rate(perSecond('failed'))} failed a second`}
        values={points.map(({ fired }) => fired)}
      />
      <Tile
        name="Lateness, p99"
        value={last?.p99Ms === undefined ? '–' : duration(last.p99Ms)}
        note={last?.p50Ms === undefined ? 'nothing fired yet' : `half of them below ${duration(last.p50Ms)}`}
        values={points.map(({ p99Ms }) => p99Ms)}
        tone="c4"
      />
      <Tile
        name="Retrying"
        value={compact(totals.retrying)}
        exact={totals.retrying}
        link={href(['timers'], { state: 'retrying' })}
        note="failed at least once"
        values={points.map(({ failed }) => failed)}
        tone="c3"
      />
      <Tile
        name="Dead letters"
        value={compact(totals.dead)}
        exact={totals.dead}
        isBad={totals.dead > 0}
        link={href(['dead'])}
        note={totals.dead === 0 ? 'none was given up' : 'given up'}
        values={points.map(({ dead }) => dead)}
        tone="c5"
      />
    </ul>
  )
}

function Tile({
  name,
  value,
  exact,
  note,
  link,
  values,
  tone,
  isBad = false,
}: {
  readonly name: string
  readonly value: string
  readonly exact?: number
  readonly note: string
  readonly link?: string
  readonly values?: readonly (number | undefined)[]
  readonly tone?: string
  readonly isBad?: boolean
}): JSX.Element {
  return (
    <li class={`tile ${isBad ? 'bad' : ''}`}>
      <p class="tile-name">{link === undefined ? name : <a href={link}>{name}</a>}</p>
      <p class="tile-value" title={exact === undefined ? undefined : count(exact)}>
        {value}
      </p>
      <p class="tile-note">{note}</p>
      {values !== undefined && values.length > 0 && (
        <Spark values={values} {...(tone !== undefined && { tone })} />
      )}
    </li>
  )
}

function Lines({ series: { points, stepMs } }: { readonly series: Series }): JSX.Element {
  const at = points.map((point) => point.at)
  const aSecond = (name: 'set' | 'fired' | 'failed'): number[] =>
    points.map((point) => (point[name] * 1000) / stepMs)
  return (
    <>
      <Chart
        type="lines"
        label="Timers a second"
        at={at}
        format={rate}
        layers={[
          { name: 'fired a second', tone: 'c0', values: aSecond('fired') },
          { name: 'set', tone: 'c1', values: aSecond('set') },
          { name: 'failed', tone: 'c5', values: aSecond('failed') },
        ]}
      />
      <Chart
        type="lines"
        label="Lateness"
        at={at}
        format={duration}
        layers={[
          { name: 'lateness p50', tone: 'c2', values: points.map(({ p50Ms }) => p50Ms) },
          { name: 'p99', tone: 'c4', values: points.map(({ p99Ms }) => p99Ms) },
        ]}
      />
    </>
  )
}

function FirstTime(): JSX.Element {
  return (
    <Card>
      <Empty title="No timer was set in this namespace yet.">
        <p>Set the first one from here, from a terminal or from a program, and see it fire.</p>
        <Button tone="main" onClick={() => (location.hash = href(['start']))}>
          First steps
        </Button>
      </Empty>
    </Card>
  )
}
