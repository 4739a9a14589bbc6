/** Whole engines under simulated trouble, with the promises of the design checked throughout. */
export { drawPlan, type Plan } from './plan.js'
export { shrink, type Shrunk } from './shrink.js'
export { simulate, type SimulateOptions, type SimulationReport } from './simulate.js'
export { outerPromises, promises, type PromiseName, type Violation, violationText } from './violation.js'
