import type { EngineSettings } from '../../../engine/index.js'
import { drawFaults, type Fault } from './fault.js'
import { drawOperations, type PlannedOperation, simulatedKinds, type SimulatedKind } from './operation.js'
import { drawPools } from './pools.js'
import { Random } from '../../random.js'
import { drawOutsiders } from './outsiders.js'
import { drawSettings } from './swarm.js'
import { drawStep, drawThemed, drawThemes, type Theme, themes } from './theme.js'

/**
 * Everything that happens to a run from outside, drawn from its seed alone: machines, shards, settings, delays, faults
 * and what the clients do. Each seed also draws its own probabilities, so that runs differ strongly from each other.
 */
export interface Plan {
  readonly seed: number
  /** The themes of this run. */
  readonly themes: readonly Theme[]
  readonly shardCount: number
  readonly instances: readonly PlannedInstance[]
  readonly settings: EngineSettings
  /** When the faults and operations end and the calm begins. */
  readonly troubleMs: number
  /** Scene: an owner dies for good in the calm, and its shards must be taken over. */
  readonly hasTakeover: boolean
  /** Scene: a machine joins in the calm while attempts run, and due timers must start in time. */
  readonly hasRebalance: boolean
  /** Scene: timers of each kind are set in the calm, and must start in time where they are handled. */
  readonly hasProbes: boolean
  /** Scene: an owner's clock is set by this much in the calm, and it must release its shards. */
  readonly strayMs: number | undefined
  /** Scene: no instance is started in the calm, and calls of one that was only opened must work. */
  readonly isDeserted: boolean
  readonly travel: Travel
  readonly handling: Handling
  readonly faults: readonly Fault[]
  readonly operations: readonly PlannedOperation[]
}

export interface PlannedInstance {
  readonly skewMs: number
  readonly rate: number
  /** The time between opening and starting. Infinity: it never starts. */
  readonly startAfterMs: number
  /** When it is switched on. */
  readonly bootAfterMs: number
  /** The kinds that it handles. */
  readonly kinds: readonly SimulatedKind[]
}

/** How long calls to the store take. */
export interface Travel {
  readonly minMs: number
  readonly maxMs: number
  /** How long a caller waits for an answer. */
  readonly timeoutMs: number
}

/** How attempts end: the probability of each outcome. The rest are done at once. */
export interface Handling {
  readonly retry: number
  readonly next: number
  readonly dead: number
  /** The share of attempts that take a while, and the longest. */
  readonly takesTime: number
  readonly maxMs: number
  readonly mostAttempts: number
  /** The share of attempts that take long before the calm, and the longest. */
  readonly long: number
  readonly longMs: number
  /** The share of attempts that block the event loop before the calm, and the longest. */
  readonly blocks: number
  readonly blockMs: number
  /** The share of firings that start a while after their delivery. */
  readonly later: number
}

/** Draws a plan. Leaving out a theme with `without` does not change the rest of the plan. */
export function drawPlan(seed: number, without: readonly Theme[] = []): Plan {
  const usual = drawUsual(seed)
  const drawn = drawThemes(new Random(seed, 4)).filter((theme) => !without.includes(theme))
  const has = (theme: Theme): boolean => drawn.includes(theme)
  const streamOf = (theme: Theme): Random => new Random(seed, 50 + themes.indexOf(theme))
  const joins = streamOf('joins')
  const joiners = has('joins') ? joins.whole(usual.instances.length === 1 ? 1 : 0, 2) : 0
  const shardCount = has('joins') ? joins.whole(2, 4) : usual.shardCount
  const clocks = streamOf('clocks')
  const base = usual.instances.map((instance) => {
    const skewMs = clocks.chance(0.4) ? drawStep(clocks) : instance.skewMs
    return has('clocks') ? { ...instance, skewMs } : instance
  })
  const all = [
    ...base,
    ...Array.from({ length: joiners }, () => ({
      skewMs: joins.whole(-400, 400),
      rate: 1 + joins.between(-1e-3, 1e-3),
      startAfterMs: 0,
      bootAfterMs: joins.whole(500, usual.troubleMs),
      kinds: simulatedKinds,
    })),
  ]
  const hasPools = has('pools') && all.length > 1
  const pools = streamOf('pools')
  const kinds = drawPools(pools, all.length)
  const instances = hasPools ? all.map((each, index) => ({ ...each, kinds: kinds[index]! })) : all
  const hasProbes = hasPools && pools.chance(0.5)
  const { leaseMs } = usual.settings
  const long = streamOf('long')
  const blocks = streamOf('blocks')
  const handling: Handling = {
    ...usual.handling,
    ...(has('long') && {
      long: long.chance(0.5) ? 0 : long.between(0.02, 0.3),
      longMs: long.scaled(3000, 90_000),
    }),
    ...(has('blocks') && {
      blocks: blocks.chance(0.4) ? 0 : blocks.between(0.05, 0.6),
      blockMs: blocks.scaled(20, leaseMs),
      later: blocks.chance(0.5) ? 0 : blocks.between(0.05, 0.4),
    }),
  }
  const faults = [...usual.faults]
  for (const theme of drawn) {
    // Only faults of the theme 'joins' may hit the machines that this theme adds: without it they do not exist.
    const run = {
      untilMs: usual.troubleMs,
      instances: theme === 'joins' ? instances.length : base.length,
      leaseMs,
    }
    const themed = drawThemed(theme, new Random(seed, 60 + themes.indexOf(theme)), run)
    for (const [index, fault] of themed.entries())
      faults.push(Object.assign(fault, { id: firstIdOf(theme) + index }) as Fault)
  }
  const outside = streamOf('outsiders')
  const outsiders = has('outsiders')
    ? drawOutsiders(outside, usual.troubleMs)
    : { machines: [], operations: [] }
  const mayRebalance = has('joins') && instances.length > 1 && joins.chance(0.5)
  // Probes of the rebalance measure the delay at the owner alone.
  const hasRebalance = mayRebalance && !hasPools
  return {
    ...usual,
    themes: drawn,
    shardCount,
    instances: [...instances, ...outsiders.machines],
    operations: [...usual.operations, ...outsiders.operations].toSorted((a, b) => a.at - b.at),
    isDeserted: has('outsiders') && outside.chance(0.5),
    handling,
    faults,
    hasRebalance,
    hasProbes,
    strayMs: has('clocks') && instances.length > 1 && clocks.chance(0.6) ? drawStray(clocks) : undefined,
    // Small limits would delay due timers as well, and the scene measures that delay.
    settings: hasRebalance || hasProbes ? { ...usual.settings, ...roomy } : usual.settings,
  }
}

const roomy = { maxTimers: 1000, pageRows: 1000, writeBatch: 1000, maxQueued: 1000, concurrency: 1000 }

/** The ids of a theme's faults do not depend on which other themes a seed has. */
function firstIdOf(theme: Theme): number {
  return 100 * (1 + themes.indexOf(theme)) + 1
}

/** Far enough to be noticed, however long calls to the store take. */
function drawStray(random: Random): number {
  const byMs = random.scaled(1500, 3_600_000)
  return random.chance(0.5) ? byMs : -byMs
}

type Usual = Omit<Plan, 'themes' | 'hasRebalance' | 'hasProbes' | 'strayMs' | 'isDeserted'>

function drawUsual(seed: number): Usual {
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
      bootAfterMs: 0,
      kinds: simulatedKinds,
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
      long: 0,
      longMs: 0,
      blocks: 0,
      blockMs: 0,
      later: 0,
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
        // At least one weight must be above 0.
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
