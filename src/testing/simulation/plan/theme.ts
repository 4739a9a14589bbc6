import type { Fault, FaultKind } from './fault.js'
import type { Random } from '../../random.js'

/**
 * Groups of faults that a seed either has or does not have, in addition to the faults that every seed draws: handlers
 * that take minutes, handlers that block the event loop, machines that come and go, machines whose clocks are far off, a
 * store whose clock is wrong, a store that loses power, machines that never start, and machines that handle different
 * kinds. Each theme has its own random stream, so leaving one out does not change the others.
 */
export const themes = [
  'long',
  'blocks',
  'joins',
  'clocks',
  'store-clock',
  'power',
  'outsiders',
  'pools',
] as const
/** What a simulated run is about. */
export type Theme = (typeof themes)[number]

const MAX_ATTEMPT_MS = 150_000
const HOUR_MS = 3_600_000

/** The probability that a seed has each theme. */
const shares: Readonly<Record<Theme, number>> = {
  long: 0.3,
  blocks: 0.3,
  joins: 0.3,
  clocks: 0.2,
  'store-clock': 0.2,
  power: 0.15,
  outsiders: 0.35,
  pools: 0.3,
}

/** The themes that a seed has. */
export function drawThemes(random: Random): readonly Theme[] {
  return themes.filter((theme) => random.chance(shares[theme]))
}

/** The faults of one theme, in no order. */
export function drawThemed(
  theme: Theme,
  random: Random,
  run: { readonly untilMs: number; readonly instances: number; readonly leaseMs: number },
): Omit<Fault, 'id'>[] {
  const at = (): number => Math.round(random.between(300, run.untilMs))
  const instance = (): number => random.whole(0, run.instances - 1)
  const several = (least: number, most: number, draw: () => FaultKind): Omit<Fault, 'id'>[] =>
    Array.from({ length: random.whole(least, most) }, () => ({
      ...draw(),
      at: at(),
      instance: instance(),
      theme,
    }))
  switch (theme) {
    case 'long':
      return several(1, 5, () => ({
        type: 'handlers',
        count: random.whole(1, 3),
        takesMs: random.scaled(1000, MAX_ATTEMPT_MS),
      }))
    case 'blocks':
      return several(2, 8, () => ({
        type: 'blocks',
        count: random.whole(1, 4),
        forMs: random.chance(0.6) ? random.scaled(5, run.leaseMs / 2) : random.scaled(500, run.leaseMs * 2),
      }))
    case 'joins':
      return several(4, 16, () => ({ type: 'stop', downMs: random.scaled(50, 4000) }))
    case 'clocks':
      return several(1, 5, () => ({
        type: 'jump',
        byMs: drawStep(random),
        forMs: random.scaled(200, 20_000),
      }))
    case 'store-clock':
      return several(1, 4, () =>
        random.chance(0.2)
          ? { type: 'store-drift', rate: 1 + random.between(-1e-3, 1e-3) }
          : {
              type: 'store-jump',
              byMs: drawStep(random),
              forMs: random.scaled(200, 15_000),
              // A file store uses the clock of its machine.
              isEverywhere: random.chance(0.5),
            },
      )
    case 'power':
      return several(1, 3, () => ({ type: 'power', downMs: random.scaled(20, 3000) }))
    case 'outsiders':
      return []
    case 'pools':
      return several(1, 6, () =>
        random.chance(0.5)
          ? {
              type: 'wakes',
              forMs: random.scaled(500, 10_000),
              delayMs: random.chance(0.5) ? undefined : random.scaled(50, 3000),
            }
          : {
              type: 'calls',
              calls: random.pick(['post', 'takeMail', 'find', 'settle', 'append', 'heartbeat']),
              count: random.whole(1, 4),
              fate: random.pick(['error-before', 'error-after', 'late-commit', 'slow-commit', 'slow-answer']),
              delayMs: random.scaled(50, 20_000),
            },
      )
  }
}

/** How far a clock is set, forward or back: a little, more than is allowed, or up to an hour. */
export function drawStep(random: Random): number {
  const size = random.chance(0.3)
    ? random.scaled(20, 900)
    : random.chance(0.5)
      ? random.scaled(900, 30_000)
      : random.scaled(30_000, HOUR_MS)
  return random.chance(0.5) ? size : -size
}
