/** The durable record of a timer: its name, its content, its place in its shard's order. */
export { handleOf, parseHandle, type TimerHandle } from './handle.js'
export { checkKey, checkKind, checkNamespace, checkTags, nameLimits } from './name.js'
export {
  comparePlaces,
  earlierOf,
  firstPlace,
  isBefore,
  laterOf,
  levelAfter,
  levelAt,
  type Place,
} from './place.js'
export { shardOf } from './shard-of.js'
export type { TimerContent, TimerName, TimerProgress, TimerRow } from './timer-row.js'
