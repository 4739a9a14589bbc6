import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { Forecast } from '../../api/types.ts'
import { now } from '../../state/clock.ts'
import { shownZone } from '../../state/preferences.ts'
import { href } from '../../state/router.ts'
import { Card, Choice, Loaded, Notice } from '../../ui/basics.tsx'
import { Chart } from '../../ui/chart.tsx'
import { compact, count, dateOf, timeOf } from '../../ui/format.ts'
import {
  herdsOf,
  herdText,
  layersOf,
  overdueText,
  type Span,
  spans,
  stepsOf,
  sumsOf,
  useForecast,
} from './forecast-data.ts'

/** What is due soon, by kind, on the overview. */
export function ComingSoon(): JSX.Element {
  const span = useSignal<Span>('hour')
  const forecast = useForecast(span.value)
  return (
    <Card
      title="What is coming"
      actions={<SpanChoice span={span.value} choose={(value) => (span.value = value)} />}
    >
      <Loaded from={forecast} what="forecast by kind">
        {(data) => (
          <>
            <ForecastChart forecast={data} span={span.value} />
            <p>
              <a href={href(['forecast'], { over: span.value })}>The whole forecast</a>
            </p>
          </>
        )}
      </Loaded>
    </Card>
  )
}

export function SpanChoice({
  span,
  choose,
}: {
  readonly span: Span
  readonly choose: (span: Span) => void
}): JSX.Element {
  return (
    <Choice
      label="How far ahead"
      value={span}
      options={[
        ['hour', 'Hour'],
        ['day', 'Day'],
        ['month', 'Month'],
      ]}
      choose={choose}
    />
  )
}

export function ForecastChart({
  forecast,
  span,
}: {
  readonly forecast: Forecast
  readonly span: Span
}): JSX.Element {
  const zone = shownZone()
  const total = sumsOf(forecast).reduce((sum, value) => sum + value, 0)
  const herds = herdsOf(forecast)
  const overdue = overdueText(forecast)
  return (
    <>
      <p class="chart-sum">
        <strong title={count(total)}>{compact(total)}</strong> {total === 1 ? 'timer is' : 'timers are'} due
        in {spans[span].words}. {overdue !== undefined && <span class="bad-text">{overdue}</span>}
      </p>
      <Chart
        type="bars"
        label={`Timers due in ${spans[span].words}, by kind`}
        at={stepsOf(forecast)}
        layers={layersOf(forecast)}
        format={count}
        marked={new Set(herds.map(({ step }) => step))}
        timeFormat={(at) => (span === 'month' ? dateOf(at, zone) : timeOf(at, zone))}
      />
      {herds.length > 0 && (
        <Notice tone="warn">
          {herds.map((herd) => (
            <p key={herd.step}>{herdText(forecast, herd, span, zone, now.peek())}</p>
          ))}
          <p class="muted">
            Spread schedules with a window or a jitter if that is more than your targets can take.
          </p>
        </Notice>
      )}
    </>
  )
}
