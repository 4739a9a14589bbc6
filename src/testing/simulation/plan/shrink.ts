import { simulate, type SimulateOptions, type SimulationReport } from '../simulate.js'

const MAX_RUNS = 300

/** A failing run without the faults and operations that it does not need in order to fail. */
export interface Shrunk {
  readonly faults: readonly number[]
  readonly operations: readonly number[]
  readonly report: SimulationReport
}

/**
 * Finds a small set of faults, and then of operations, with which a seed still breaks the same promise. Answers
 * undefined if the seed breaks no promise.
 */
export async function shrink(seed: number, options: SimulateOptions): Promise<Shrunk | undefined> {
  let report = await simulate(seed, options)
  const promise = report.violations[0]?.promise
  if (promise === undefined) return undefined
  const runs = { left: MAX_RUNS }
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
 * Delta debugging: leaves out halves, quarters and so on, as long as the rest still fails. It ends when no single item
 * can be left out, or when the runs are used up.
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
      // The next part has moved to this index.
      from -= size
    }
    if (size === 1 && !isSmaller) break
    if (size > 1) parts = Math.min(kept.length, parts * 2)
    else parts = kept.length
  }
  return kept
}
