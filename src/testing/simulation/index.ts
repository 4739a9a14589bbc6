/** Runs whole engines under simulated faults and checks the promises of docs/protocol.md all the time. */
export { drawPlan, type Plan } from './plan/plan.js'
export { shrink, type Shrunk } from './plan/shrink.js'
export { simulate, type SimulateOptions, type SimulationReport } from './simulate.js'
export { type Theme, themes } from './plan/theme.js'
export {
  outerPromises,
  promises,
  type PromiseName,
  type Violation,
  violationText,
} from './check/violation.js'
