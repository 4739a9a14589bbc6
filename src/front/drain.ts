import { checkOptions, InvalidInputError, shown } from '../error/index.js'
import { type Duration, parseDuration } from '../time/index.js'

export interface DrainOptions {
  /** Start nothing after this long. Default 10 s. */
  readonly maxTime?: Duration
  /** Start at most so many. Default: no limit. */
  readonly maxTimers?: number
}

/** What a bounded pass did. */
export interface Drained {
  /** Attempts that were started. */
  readonly fired: number
  /** Whether nothing is left that is due and could be started here. */
  readonly isCaughtUp: boolean
}

export interface DrainBounds {
  readonly maxTimeMs: number
  readonly maxTimers: number
}

export function boundsOf(options: DrainOptions): DrainBounds {
  checkOptions('drain', options, ['maxTime', 'maxTimers'])
  const { maxTime = '10s', maxTimers = Infinity } = options
  if (!(maxTimers === Infinity || (Number.isInteger(maxTimers) && maxTimers >= 1))) {
    throw new InvalidInputError(
      'invalid-option',
      `maxTimers must be a whole number from 1, got ${shown(maxTimers)}`,
    )
  }
  return { maxTimeMs: parseDuration(maxTime), maxTimers }
}
