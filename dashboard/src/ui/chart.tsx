import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { now } from '../state/clock.ts'
import { shownZone } from '../state/preferences.ts'
import { Folded } from './basics.tsx'
import { shortInstant, timeOf } from './format.ts'

/** One line of a chart, or one layer of its bars. */
export interface Layer {
  readonly name: string
  /** `c0` to `c8`: its colour. */
  readonly tone: string
  /** Undefined where nothing was measured. */
  readonly values: readonly (number | undefined)[]
}

interface ChartProps {
  /** What it shows, for its table and for screen readers. */
  readonly label: string
  /** The start of each step. */
  readonly at: readonly number[]
  readonly layers: readonly Layer[]
  readonly format: (value: number) => string
  readonly type: 'lines' | 'bars'
  /** Marks some steps, such as the midnight herd. */
  readonly marked?: ReadonlySet<number>
  readonly timeFormat?: (at: number) => string
}

const WIDTH = 1000
const HEIGHT = 200

/**
 * Lines or stacked bars over time. Under the pointer, or with the arrow keys, the legend shows the values of one step.
 * The same numbers are in a table.
 */
export function Chart({ label, at, layers, format, type, marked, timeFormat }: ChartProps): JSX.Element {
  const under = useSignal<number | undefined>(undefined)
  const steps = at.length
  const top = niceTop(type === 'bars' ? maxOfSums(layers, steps) : maxOf(layers))
  const time = timeFormat ?? ((instant: number) => shortInstant(instant, shownZone(), now.peek()))
  const step = under.value !== undefined && under.value < steps ? under.value : undefined
  const move = (event: PointerEvent): void => {
    const { left, width } = (event.currentTarget as HTMLElement).getBoundingClientRect()
    under.value = Math.max(0, Math.min(steps - 1, Math.floor(((event.clientX - left) / width) * steps)))
  }
  const keys = (event: KeyboardEvent): void => {
    const change = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (change === undefined) return
    event.preventDefault()
    under.value = Math.max(0, Math.min(steps - 1, (under.value ?? (change > 0 ? -1 : steps)) + change))
  }
  return (
    <figure class="chart">
      <Legend
        layers={layers}
        step={step}
        format={format}
        title={step === undefined ? undefined : time(at[step]!)}
      />
      <div class="chart-frame">
        <span class="chart-top">{format(top)}</span>
        <div
          class="chart-plot"
          role="img"
          aria-label={`${label}. Use the arrow keys to read it step by step.`}
          tabIndex={0}
          onPointerMove={move}
          onPointerLeave={() => (under.value = undefined)}
          onKeyDown={keys}
          onBlur={() => (under.value = undefined)}
        >
          <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
            {[0.25, 0.5, 0.75].map((part) => (
              <line key={part} class="grid" x1={0} x2={WIDTH} y1={HEIGHT * part} y2={HEIGHT * part} />
            ))}
            {step !== undefined && (
              <rect class="under" x={(step * WIDTH) / steps} width={WIDTH / steps} y={0} height={HEIGHT} />
            )}
            {type === 'lines'
              ? layers.map(({ name, tone, values }) => (
                  <path key={name} class={`line ${tone}`} d={linePath(values, top)} />
                ))
              : bars(layers, steps, top, marked)}
          </svg>
        </div>
        <div class="chart-times" aria-hidden="true">
          {timeLabels(at).map((instant) => (
            <span key={instant}>{timeFormat?.(instant) ?? timeOf(instant, shownZone())}</span>
          ))}
        </div>
      </div>
      <span class="offscreen" aria-live="polite">
        {step === undefined
          ? ''
          : `${time(at[step]!)}: ${layers.map(({ name, values }) => `${name} ${shown(values[step], format)}`).join(', ')}`}
      </span>
      <Folded summary="Show as a table">
        <ChartTable label={label} at={at} layers={layers} format={format} time={time} />
      </Folded>
    </figure>
  )
}

function Legend({
  layers,
  step,
  format,
  title,
}: {
  readonly layers: readonly Layer[]
  readonly step: number | undefined
  readonly format: (value: number) => string
  readonly title: ComponentChildren
}): JSX.Element {
  return (
    <figcaption class="legend">
      {layers.map(({ name, tone, values }) => (
        <span key={name} class="legend-item">
          <span class={`swatch ${tone}`} aria-hidden="true" />
          {name}
          {step !== undefined && <strong>{shown(values[step], format)}</strong>}
        </span>
      ))}
      {title !== undefined && <span class="muted legend-time">{title}</span>}
    </figcaption>
  )
}

function ChartTable({
  label,
  at,
  layers,
  format,
  time,
}: Pick<ChartProps, 'label' | 'at' | 'layers' | 'format'> & {
  readonly time: (at: number) => string
}): JSX.Element {
  // Steps without anything would bury the others.
  const steps = at
    .map((instant, step) => ({ instant, step }))
    .filter(({ step }) => layers.some(({ values }) => (values[step] ?? 0) !== 0))
  if (steps.length === 0) return <p class="muted">Nothing in this time.</p>
  return (
    <div class="table-scroll short" role="region" aria-label={`${label}, as a table`} tabIndex={0}>
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">from</th>
            {layers.map(({ name }) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {steps.map(({ instant, step }) => (
            <tr key={instant}>
              <th scope="row">{time(instant)}</th>
              {layers.map(({ name, values }) => (
                <td key={name} class="number">
                  {shown(values[step], format)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** A line without axes, beside a number that says the same. */
export function Spark({
  values,
  tone = 'c0',
}: {
  readonly values: readonly (number | undefined)[]
  readonly tone?: string
}): JSX.Element {
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path
        class={`line ${tone}`}
        d={linePath(values, niceTop(Math.max(0, ...values.map((value) => value ?? 0))))}
      />
    </svg>
  )
}

/** Counts over time as small bars. */
export function SparkBars({
  values,
  label,
}: {
  readonly values: readonly number[]
  readonly label: string
}): JSX.Element {
  const top = Math.max(1, ...values)
  const width = WIDTH / values.length
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {values.map((value, step) => (
        <rect
          key={step}
          class="bar c5"
          x={step * width + width * 0.1}
          width={width * 0.8}
          y={HEIGHT - barHeight(value, top)}
          height={barHeight(value, top)}
        />
      ))}
    </svg>
  )
}

function bars(
  layers: readonly Layer[],
  steps: number,
  top: number,
  marked?: ReadonlySet<number>,
): JSX.Element[] {
  const width = WIDTH / Math.max(1, steps)
  return Array.from({ length: steps }, (_, step) => {
    let y = HEIGHT
    const rects = layers.map(({ name, tone, values }) => {
      const height = barHeight(values[step] ?? 0, top)
      y -= height
      if (height === 0) return null
      return (
        <rect
          key={name}
          class={`bar ${tone}`}
          x={step * width + width * 0.08}
          width={width * 0.84}
          y={y}
          height={height}
        />
      )
    })
    return (
      <g key={step}>
        {marked?.has(step) === true && (
          <rect class="marked" x={step * width} width={width} y={0} height={HEIGHT} />
        )}
        {rects}
      </g>
    )
  })
}

/** A value above zero is always visible. */
function barHeight(value: number, top: number): number {
  return value === 0 ? 0 : Math.max(2, (value / top) * HEIGHT)
}

function linePath(values: readonly (number | undefined)[], top: number): string {
  const last = Math.max(1, values.length - 1)
  let isDrawing = false
  return values
    .map((value, step) => {
      if (value === undefined) {
        isDrawing = false
        return ''
      }
      const command = isDrawing ? 'L' : 'M'
      isDrawing = true
      return `${command}${((step / last) * WIDTH).toFixed(1)} ${(HEIGHT - 3 - (value / top) * (HEIGHT - 8)).toFixed(1)}`
    })
    .join('')
}

function maxOf(layers: readonly Layer[]): number {
  return Math.max(0, ...layers.flatMap(({ values }) => values.map((value) => value ?? 0)))
}

function maxOfSums(layers: readonly Layer[], steps: number): number {
  const sums = Array.from({ length: steps }, (_, step) =>
    layers.reduce((sum, { values }) => sum + (values[step] ?? 0), 0),
  )
  return Math.max(0, ...sums)
}

/** The next round number: the top of the axis. */
function niceTop(value: number): number {
  if (value <= 0) return 1
  const size = 10 ** Math.floor(Math.log10(value))
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((part) => part * size).find((top) => top >= value) ?? value
}

/** Five instants along the axis. */
function timeLabels(at: readonly number[]): readonly number[] {
  const count = Math.min(5, at.length)
  return Array.from(
    { length: count },
    (_, each) => at[Math.floor((each * (at.length - 1)) / Math.max(1, count - 1))]!,
  )
}

function shown(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? '–' : format(value)
}
