/** The engine: shards, their windows, firing and settling, over the store contract, the wheel and the clock. */
export type { SubmitAnswer } from './answer.js'
export { Engine, type EngineOptions } from './engine.js'
export type { EngineEvent, OnEvent } from './event.js'
export { type Ending, type Flow, freeFlow } from './flow.js'
export { engineDefaults, type EngineSettings, engineSettings } from './settings.js'
export type { RowProgress } from './shard-engine.js'
export { EngineCounts, type EngineStats, LatenessHistogram, type ShardView } from './stats.js'
