import { InvalidInputError, shown } from '../../error/index.js'
import type { PoolMemory } from './pool-memory.js'

// A handle has 53 bits: 6 for the pool, 23 for the use of the record, 24 for the record.
const INDEX_SPAN = 2 ** 24
const USE_SPAN = 2 ** 23
export const TAGS = 64

/** The most timers that handles can number. */
export const MAX_TIMERS = INDEX_SPAN

/** A record that was used so often is not used again: its handles would repeat. */
export const LAST_USE = USE_SPAN - 1

/** A number that names one timer of one pool, in every thread. */
export type TimerHandle = number

export function handleOf(tag: number, use: number, index: number): TimerHandle {
  return (tag * USE_SPAN + use) * INDEX_SPAN + index
}

export function indexOf(handle: TimerHandle): number {
  return handle % INDEX_SPAN
}

export function useOf(handle: TimerHandle): number {
  return Math.floor(handle / INDEX_SPAN) % USE_SPAN
}

/** Refuses what is not a handle of this pool. */
export function checkHandle(handle: unknown, { tag, maxTimers }: PoolMemory): void {
  if (typeof handle !== 'number' || !Number.isSafeInteger(handle) || handle < 0) {
    throw new InvalidInputError(
      'invalid-handle',
      `${shown(handle)} is not a handle: pass the number that \`set\` returned`,
    )
  }
  if (Math.floor(handle / (USE_SPAN * INDEX_SPAN)) !== tag || indexOf(handle) >= maxTimers) {
    throw new InvalidInputError('invalid-handle', `${handle} is the handle of a timer of another pool`)
  }
}
