import type { EngineSettings } from '../../engine/index.js'
import { drawFaults, type Fault } from './fault.js'
import { drawOperations, type PlannedOperation } from './operation.js'
import { Random } from '../random.js'
import { drawSettings } from './swarm.js'

/**
 * All that happens to a run from the outside, drawn from its seed alone: how many of what, how slow, which
 * settings, when something goes wrong and what the clients do. Each seed draws its own rates, so that seeds
 * differ from each other more than the moments of one run do.
 */
export interface Plan {
  readonly seed: number
  readonly shardCount: number
  readonly instances: readonly PlannedInstance[]
  readonly settings: EngineSettings
  /** When faults and operations end. */
  readonly troubleMs: number
  /** Whether an owner dies for good when all else is calm, to see its shards taken over. */
  readonly hasTakeover: boolean
  readonly travel: Travel
  readonly handling: Handling
  readonly faults: readonly Fault[]
  readonly operations: readonly PlannedOperation[]
}

export interface PlannedInstance {
  readonly skewMs: number
  readonly rate: number
  /** Between opening and starting. */
  readonly startAfterMs: number
}

/** How long calls to the store take. */
export interface Travel {
  readonly minMs: number
  readonly maxMs: number
  /** A client stops waiting for an answer. */
  readonly timeoutMs: number
}

/** How attempts end: the share of each. What is left is done at once. */
export interface Handling {
  readonly retry: number
  readonly next: number
  readonly dead: number
  /** Attempts that take a while, and how long at most. */
  readonly takesTime: number
  readonly maxMs: number
  readonly mostAttempts: number
}

export function drawPlan(seed: number): Plan {
  const random = new Random(seed)
  const shardCount = random.whole(1, random.chance(0.5) ? 1 : 4)
  const count = random.whole(1, 4)
  const troubleMs = random.whole(10_000, 35_000)
  const isBusy = random.chance(0.3)
  const weight = (): number => (random.chance(0.3) ? 0 : random.between(0.2, 1))
  const fast = random.pick([1, 3, 12])
  return {
    seed,
    shardCount,
    instances: Array.from({ length: count }, () => ({
      skewMs: random.chance(0.3) ? 0 : random.whole(-400, 400),
      rate: random.chance(0.3) ? 1 : 1 + random.between(-1e-3, 1e-3),
      startAfterMs: random.chance(0.7) ? 0 : random.whole(1, 3000),
    })),
    settings: drawSettings(random),
    troubleMs,
    hasTakeover: count > 1 && random.chance(0.4),
    travel: { minMs: 0.3 * fast, maxMs: fast * random.between(2, 10), timeoutMs: random.scaled(800, 4000) },
    handling: {
      retry: random.chance(0.3) ? 0 : random.between(0, 0.3),
      next: random.chance(0.3) ? 0 : random.between(0, 0.2),
      dead: random.chance(0.5) ? 0 : random.between(0, 0.1),
      takesTime: random.chance(0.3) ? 0 : random.between(0, 0.7),
      maxMs: random.scaled(10, 8000),
      mostAttempts: random.whole(2, 6),
    },
    faults: drawFaults(
      { faults: new Random(seed, 1), closings: new Random(seed, 3) },
      {
        crash: weight(),
        stop: weight() * 0.4,
        pause: weight(),
        partition: weight() * 0.7,
        calls: weight() * 6,
        jump: weight() * 0.7,
        drift: weight() * 0.2,
        wakes: weight() * 0.3,
        // One that is never drawn at all would leave the table empty.
        handlers: weight() + 0.01,
      },
      random.chance(0.1) ? random.whole(1, 4) : random.whole(5, 35),
      troubleMs,
      count,
    ),
    operations: drawOperations(new Random(seed, 2), {
      operations: isBusy ? random.whole(80, 160) : random.whole(25, 80),
      untilMs: troubleMs,
      instances: count,
      hotKeys: random.whole(1, 6),
      hotShare: random.between(0.2, 0.9),
      burstChance: random.chance(0.5) ? 0.02 : 0.1,
      mostInBurst: random.whole(4, isBusy ? 40 : 15),
      farMs: random.whole(15_000, 45_000),
      rivalChance: random.pick([0, 0.1, 0.3]),
    }),
  }
}
