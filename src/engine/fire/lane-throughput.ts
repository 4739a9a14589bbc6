import type { Clock } from '../../time/index.js'
import type { Lane } from './lane.js'
import { FORGET_AFTER_MS, MEASURE_MS } from '../defaults.js'

/** A measurement of how fast a lane starts its timers. */
interface Measurement {
  readonly since: number
  readonly started: number
  /** Timers started per millisecond; undefined until it was measured for long enough. */
  readonly perMs: number | undefined
}

/** How fast each lane in which timers wait starts them. */
export class LaneThroughput {
  readonly #clock: Clock
  readonly #lanes: Iterable<Lane>
  #measurements = new Map<Lane, Measurement>()

  constructor(clock: Clock, lanes: Iterable<Lane>) {
    this.#clock = clock
    this.#lanes = lanes
  }

  /** Measures all lanes: to be called about every second. */
  measure(): void {
    const now = this.#clock.monotonic()
    const measurements = new Map<Lane, Measurement>()
    for (const lane of this.#lanes) {
      if (lane.waiting > 0) measurements.set(lane, measured(lane, this.#measurements.get(lane), now))
    }
    this.#measurements = measurements
  }

  /** How many timers of a lane will start within `ms`: none if it is closed, Infinity if nothing is known. */
  startedWithin(ms: number, lane: Lane): number {
    if (!lane.throttle.isOpen) return 0
    const perMs = this.#measurements.get(lane)?.perMs
    return perMs === undefined ? Infinity : perMs * ms
  }
}

function measured(lane: Lane, before: Measurement | undefined, now: number): Measurement {
  const { started } = lane
  const tookMs = before === undefined ? Infinity : now - before.since
  if (before === undefined || tookMs > FORGET_AFTER_MS) return { since: now, started, perMs: undefined }
  return tookMs < MEASURE_MS ? before : { since: now, started, perMs: (started - before.started) / tookMs }
}
