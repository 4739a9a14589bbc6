import type { Clock } from '../time/index.js'
import type { Lane } from './lane.js'

// A lane is judged over this long, and what was seen longer ago than the second says nothing about now.
const JUDGED_OVER_MS = 1000
const FORGOTTEN_AFTER_MS = 10_000

/** What is known of how fast a lane starts its timers. */
interface Judgement {
  readonly since: number
  readonly started: number
  /** Timers started in a millisecond; undefined before it was watched for long enough. */
  readonly pace: number | undefined
}

/** How fast each lane in which timers wait starts them, from one look to the next. */
export class Paces {
  readonly #clock: Clock
  readonly #lanes: Iterable<Lane>
  #judgements = new Map<Lane, Judgement>()

  constructor(clock: Clock, lanes: Iterable<Lane>) {
    this.#clock = clock
    this.#lanes = lanes
  }

  /** Looks at all lanes: to be done about every second. */
  look(): void {
    const now = this.#clock.monotonic()
    const judgements = new Map<Lane, Judgement>()
    for (const lane of this.#lanes) {
      if (lane.waiting > 0) judgements.set(lane, judged(lane, this.#judgements.get(lane), now))
    }
    this.#judgements = judgements
  }

  /** How many of a lane will start within this time: none of a closed one, any number where nothing is known. */
  startedWithin(ms: number, lane: Lane): number {
    if (!lane.throttle.isOpen) return 0
    const pace = this.#judgements.get(lane)?.pace
    return pace === undefined ? Infinity : pace * ms
  }
}

function judged(lane: Lane, before: Judgement | undefined, now: number): Judgement {
  const { started } = lane
  const tookMs = before === undefined ? Infinity : now - before.since
  if (before === undefined || tookMs > FORGOTTEN_AFTER_MS) return { since: now, started, pace: undefined }
  return tookMs < JUDGED_OVER_MS ? before : { since: now, started, pace: (started - before.started) / tookMs }
}
