import type { Timers } from '../../front/index.js'
import type { Clock, Wake } from '../../time/index.js'
import { MAX_SERIES, SERIES_IDLE_MS, seriesSteps } from '../defaults.js'
import { addCells, CELLS, counted, LATENESS_BUCKETS, noCells, StepRing } from './step-ring.js'

type SeriesSpan = keyof typeof seriesSteps

export interface SeriesQuery {
  readonly namespace: string
  /** Without it, all kinds of the namespace together. */
  readonly kind?: string
  readonly over: SeriesSpan
  /** The first and the last step, counted from the epoch. */
  readonly firstStep: number
  readonly lastStep: number
}

/** The steps that had anything, with their cells. */
export type SeriesHere = readonly (readonly [step: number, cells: readonly number[]])[]

interface Series {
  readonly rings: Readonly<Record<SeriesSpan, StepRing>>
  addedAt: number
}

/**
 * What an instance did in each step of the last hour and the last day: a series for each namespace, and for each kind.
 * The memory is bounded: at most `MAX_SERIES` have one. Steps follow the store's clock, so that the series of several
 * instances can be added up.
 *
 * Proven by test/server/views/overview.test.ts and test/server/views/step-ring.test.ts.
 */
export class SeriesRecorder {
  readonly #timers: Timers
  readonly #clock: Clock
  readonly #openNamespaces: () => Iterable<readonly [namespace: string, timers: Timers]>
  readonly #series = new Map<string, Series>()
  // The counters as they were last, by namespace and kind.
  readonly #last = new Map<string, Float64Array>()
  #wake: Wake | undefined
  #isStopped = false

  constructor(
    timers: Timers,
    clock: Clock,
    openNamespaces: () => Iterable<readonly [namespace: string, timers: Timers]>,
  ) {
    this.#timers = timers
    this.#clock = clock
    this.#openNamespaces = openNamespaces
  }

  start(): void {
    if (this.#isStopped) return
    this.sample()
    this.#wake = this.#clock.wakeAfter(seriesSteps['1h'].stepMs, () => this.start(), { keepAlive: false })
  }

  stop(): void {
    this.#isStopped = true
    this.#wake?.cancel()
  }

  /** Adds what happened since the last sample to the step of now. */
  sample(): void {
    const at = this.#timers.engine.storeNow()
    for (const { namespace, kind, started, ended, lateness } of this.#timers.engine.stats().kinds) {
      const cells = noCells()
      cells[1] = started
      cells[2] = ended.done + ended.next
      cells[3] = ended.retry
      cells[4] = ended.dead
      for (const [bucket, count] of lateness.counts.entries())
        cells[counted.length + Math.min(bucket, LATENESS_BUCKETS - 1)]! += count
      this.#addSince(`ended ${nameOf(namespace, kind)}`, namespace, kind, cells, at)
    }
    for (const [namespace, { setCounts }] of this.#openNamespaces()) {
      for (const [kind, count] of setCounts) {
        const cells = noCells()
        cells[0] = count
        this.#addSince(`set ${nameOf(namespace, kind)}`, namespace, kind, cells, at)
      }
    }
  }

  /** The steps of a series that this instance has. */
  steps({ namespace, kind, over, firstStep, lastStep }: SeriesQuery): SeriesHere {
    const ring = this.#series.get(nameOf(namespace, kind))?.rings[over]
    const steps: [number, readonly number[]][] = []
    if (ring === undefined) return steps
    for (let step = firstStep; step <= lastStep; step++) {
      const cells = ring.at(step)
      if (cells !== undefined) steps.push([step, cells])
    }
    return steps
  }

  /** What happened in the last `ms`, in steps of ten seconds. */
  recent(namespace: string, kind: string | undefined, ms: number): readonly number[] {
    const { stepMs } = seriesSteps['1h']
    const lastStep = Math.floor(this.#timers.engine.storeNow() / stepMs)
    const firstStep = lastStep - Math.ceil(ms / stepMs) + 1
    const sum = noCells()
    for (const [, cells] of this.steps({
      namespace,
      ...(kind !== undefined && { kind }),
      over: '1h',
      firstStep,
      lastStep,
    }))
      addCells(sum, cells)
    return sum
  }

  #addSince(name: string, namespace: string, kind: string, cells: readonly number[], at: number): void {
    const before = this.#last.get(name)
    const change = new Float64Array(CELLS)
    let isChanged = false
    for (let cell = 0; cell < CELLS; cell++) {
      // An attempt that was taken back makes a counter smaller.
      change[cell] = Math.max(0, cells[cell]! - (before?.[cell] ?? 0))
      if (change[cell]! > 0) isChanged = true
    }
    if (!isChanged) return
    this.#last.set(name, Float64Array.from(cells))
    this.#seriesOf(nameOf(namespace, undefined), at)?.add(change)
    this.#seriesOf(nameOf(namespace, kind), at)?.add(change)
  }

  #seriesOf(name: string, at: number): { add(cells: ArrayLike<number>): void } | undefined {
    let series = this.#series.get(name)
    if (series === undefined) {
      if (this.#series.size >= MAX_SERIES && !this.#dropIdle(at)) return undefined
      series = {
        rings: { '1h': new StepRing(seriesSteps['1h']), '1d': new StepRing(seriesSteps['1d']) },
        addedAt: at,
      }
      this.#series.set(name, series)
    }
    const { rings } = series
    series.addedAt = at
    return {
      add(cells) {
        rings['1h'].add(at, cells)
        rings['1d'].add(at, cells)
      },
    }
  }

  #dropIdle(at: number): boolean {
    for (const [name, { addedAt }] of this.#series) {
      if (at - addedAt < SERIES_IDLE_MS) continue
      this.#series.delete(name)
      return true
    }
    return false
  }
}

function nameOf(namespace: string, kind: string | undefined): string {
  return JSON.stringify([namespace, kind])
}
