import { Engine } from '../../engine/index.js'
import type { MakeEngine } from './simulated-process.js'
import { drawPlan, type Plan } from './plan.js'
import { Simulation } from './simulation.js'
import type { PromiseName, Violation } from './violation.js'

export interface SimulateOptions {
  /** Makes the engines; Carillon's own unless given. */
  readonly makeEngine?: MakeEngine
  /** Only these faults strike, by their numbers. */
  readonly onlyFaults?: readonly number[] | undefined
  /** Only these operations are submitted, by their numbers. */
  readonly onlyOperations?: readonly number[] | undefined
  /** Only these promises are looked at; all unless given. */
  readonly promises?: readonly PromiseName[] | undefined
  /** Keep a line for each event. */
  readonly isTraced?: boolean
}

export interface SimulationReport {
  readonly seed: number
  /** Empty when all promises were kept. */
  readonly violations: readonly Violation[]
  /** How often each thing happened. */
  readonly counts: Readonly<Record<string, number>>
  readonly lines: readonly string[]
  readonly plan: Plan
}

const ownEngine: MakeEngine = (options) => new Engine(options)

/** What every whole run must have done. */
const leastActivity: Readonly<Record<string, number>> = {
  set: 8,
  fired: 5,
  'ended settled': 4,
  calls: 50,
  faults: 1,
}

/**
 * Runs engines through the trouble that `seed` draws and checks the promises. The same seed with the same
 * options is the same run, event by event.
 */
export async function simulate(seed: number, options: SimulateOptions = {}): Promise<SimulationReport> {
  const whole = drawPlan(seed)
  const { onlyFaults, onlyOperations } = options
  const plan: Plan = {
    ...whole,
    faults: whole.faults.filter(({ id }) => onlyFaults?.includes(id) ?? true),
    operations: whole.operations.filter(({ id }) => onlyOperations?.includes(id) ?? true),
  }
  const simulation = new Simulation(plan, options.makeEngine ?? ownEngine, options)
  await simulation.run()
  const { journal } = simulation
  if (journal.violations.length === 0 && onlyFaults === undefined && onlyOperations === undefined) {
    for (const [what, least] of Object.entries(leastActivity)) {
      const count = journal.counts.get(what) ?? 0
      if (count < least) journal.broken('activity', `${count} times ${what}, at least ${least} were wanted`)
    }
  }
  return {
    seed,
    violations: journal.violations,
    counts: Object.fromEntries(journal.counts),
    lines: journal.lines,
    plan,
  }
}
