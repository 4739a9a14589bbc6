import { simulate, type SimulateOptions, type SimulationReport } from './simulate.js'

const MOST_RUNS = 300

/** What is left of a failing run when all that it can do without is left out. */
export interface Shrunk {
  readonly faults: readonly number[]
  readonly operations: readonly number[]
  readonly report: SimulationReport
}

/**
 * Finds a small set of faults, then of operations, with which a seed still breaks the same promise. Undefined
 * when the seed breaks none.
 */
export async function shrink(seed: number, options: SimulateOptions): Promise<Shrunk | undefined> {
  let report = await simulate(seed, options)
  const promise = report.violations[0]?.promise
  if (promise === undefined) return undefined
  const runs = { left: MOST_RUNS }
  const fails = async (only: Pick<SimulateOptions, 'onlyFaults' | 'onlyOperations'>): Promise<boolean> => {
    const attempt = await simulate(seed, { ...options, ...only })
    if (attempt.violations[0]?.promise !== promise) return false
    report = attempt
    return true
  }
  const allOperations = report.plan.operations.map(({ id }) => id)
  const faults = await smallestOf(
    report.plan.faults.map(({ id }) => id),
    (onlyFaults) => fails({ onlyFaults, onlyOperations: allOperations }),
    runs,
  )
  const operations = await smallestOf(
    allOperations,
    (onlyOperations) => fails({ onlyFaults: faults, onlyOperations }),
    runs,
  )
  return { faults, operations, report }
}

/**
 * Delta debugging: leaves out halves, quarters and so on for as long as `fails` says that the rest still does.
 * Ends with a list none of whose single items can be left out, or when the runs are used up.
 */
export async function smallestOf<Item>(
  items: readonly Item[],
  fails: (rest: readonly Item[]) => Promise<boolean>,
  runs: { left: number },
): Promise<readonly Item[]> {
  let kept = items
  for (let parts = 1; kept.length > 0 && runs.left > 0;) {
    const size = Math.ceil(kept.length / parts)
    let isSmaller = false
    for (let from = 0; from < kept.length && runs.left > 0; from += size) {
      const rest = [...kept.slice(0, from), ...kept.slice(from + size)]
      runs.left--
      if (!(await fails(rest))) continue
      kept = rest
      isSmaller = true
      // What followed the part that went now stands in its place.
      from -= size
    }
    if (size === 1 && !isSmaller) break
    if (size > 1) parts = Math.min(kept.length, parts * 2)
    else parts = kept.length
  }
  return kept
}
