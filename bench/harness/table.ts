import type { Metric } from './bench.js'
import type { Figure, Report, Row } from './report.js'

export interface TableStyle {
  readonly width: number
  readonly colour: boolean
}

const GAP = '  '
const NONE = '·'

/**
 * A report as a table: three lines per candidate (median, smallest to largest, how many times better ours is), in as many
 * panels of columns as the width needs. Every column is as wide as its widest cell.
 */
export function tableOf(report: Report, style: TableStyle): string {
  const { bench, n, rounds, machine } = report
  const title =
    `${bench}: n = ${n.toLocaleString('en')}, median of ${rounds} interleaved round${rounds === 1 ? '' : 's'}; ` +
    `Node ${machine.node.slice(1)}, ${machine.cpu}, ${machine.cores} cores, load before ${machine.loadBefore.toFixed(1)}`
  const shown = report.candidates.filter((row) => row.absent === undefined && row.failed === undefined)
  const columns = report.metrics
    .filter(({ name }) => shown.some((row) => row.figures[name] !== undefined))
    .map((metric) => columnOf(metric, shown))
  const labels = ['', '', ...shown.flatMap((row) => labelsOf(row))]
  const panels = panelsOf(columns, style.width - widthOf(labels))
  return [
    title,
    ...panels.map((panel) => linesOf(labels, panel, style).join('\n')),
    footnotesOf(report),
    '',
  ].join('\n\n')
}

function labelsOf(row: Row): string[] {
  const hasRatio = Object.values(row.figures).some(({ ratio }) => ratio !== undefined)
  return [row.name, '  spread', ...(hasRatio ? ['  × ours'] : [])]
}

function columnOf({ name, unit }: Metric, rows: readonly Row[]): string[] {
  const cells = rows.flatMap((row) => {
    const figure = row.figures[name]
    return labelsOf(row).map((_, line) =>
      figure === undefined ? (line === 0 ? NONE : '') : cellOf(figure, line),
    )
  })
  return [name, unit, ...cells]
}

function cellOf(figure: Figure, line: number): string {
  if (line === 0) return numberOf(figure.median)
  if (line === 1) return `${numberOf(figure.min)}..${numberOf(figure.max)}`
  return figure.ratio === undefined ? '' : `${numberOf(figure.ratio)}×`
}

/** Three digits: more would be noise. */
function numberOf(value: number): string {
  const size = Math.abs(value)
  return value.toFixed(size === 0 || size >= 100 ? 0 : size >= 10 ? 1 : 2)
}

function panelsOf(columns: readonly string[][], width: number): string[][][] {
  const panels: string[][][] = []
  let room = 0
  for (const column of columns) {
    const needed = GAP.length + widthOf(column)
    if (panels.length === 0 || needed > room) {
      panels.push([])
      room = width
    }
    panels.at(-1)!.push(column)
    room -= needed
  }
  return panels
}

function linesOf(labels: readonly string[], columns: readonly string[][], style: TableStyle): string[] {
  const labelWidth = widthOf(labels)
  const widths = columns.map((column) => widthOf(column))
  return labels.map((label, line) => {
    const cells = columns.map((column, i) => column[line]!.padStart(widths[i]!))
    const text = [label.padEnd(labelWidth), ...cells].join(GAP).trimEnd()
    if (!style.colour) return text
    if (line < 2) return `\u001B[1m${text}\u001B[0m`
    return label.startsWith(' ') ? `\u001B[2m${text}\u001B[0m` : text
  })
}

function widthOf(cells: readonly string[]): number {
  return Math.max(...cells.map((cell) => cell.length))
}

function footnotesOf({ candidates, disagreements }: Report): string {
  const lines = candidates.flatMap(({ name, about, absent, failed, notes }) => [
    `${name}: ${about}`,
    ...[absent, failed === undefined ? undefined : `FAILED: ${failed}`, ...notes]
      .filter((note) => note !== undefined)
      .map((note) => `  ${note}`),
  ])
  const agreed =
    disagreements.length === 0
      ? ['all candidates did the same work: their checks agree']
      : disagreements.map((sentence) => `DIFFERENT WORK: ${sentence}`)
  return [...lines, ...agreed].join('\n')
}
