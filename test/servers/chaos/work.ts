import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from 'carillon/testing'
import { machineMs } from './report.js'
import type { Pace } from './task.js'

/** What a handler does: it waits, or it computes and blocks the event loop. */
export interface Work {
  readonly waitMs?: number
  readonly cpuMs?: number
}

/** Additional loads. Timers of short handlers are always there. */
export const loadNames = ['long', 'blocking'] as const
export type LoadName = (typeof loadNames)[number]

/** How many timers of each load an instance sets per second. */
const LONG_A_SECOND = 1.5
const BLOCKING_A_SECOND = 1
/** The share of blocking handlers that block for longer than the lease. */
const BEYOND_LEASE_SHARE = 0.03

/** The work of the timers that an instance sets for these loads in `seconds`. */
export function loadOf(
  loads: readonly LoadName[],
  pace: Pace,
  seconds: number,
  random: Random,
): readonly Work[] {
  const work: Work[] = []
  if (loads.includes('long') && random.chance(LONG_A_SECOND * seconds))
    work.push({ waitMs: pace.shortestMs + random.below(pace.longestMs - pace.shortestMs) })
  if (loads.includes('blocking') && random.chance(BLOCKING_A_SECOND * seconds)) {
    const isBeyond = random.chance(BEYOND_LEASE_SHARE)
    work.push({ cpuMs: isBeyond ? pace.leaseMs * 1.2 : 5 + random.below(195) })
  }
  return work
}

/** Does the work. Returns undefined if there is nothing to wait for. */
export function workOf({ waitMs = 0, cpuMs = 0 }: Work): Promise<void> | undefined {
  const end = machineMs() + cpuMs
  while (machineMs() < end);
  return waitMs > 0 ? sleep(waitMs) : undefined
}
