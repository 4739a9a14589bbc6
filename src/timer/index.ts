/** The durable record of a timer: its name, content, progress and place in its shard's order. */
export { changedDetails, isRevisionOf, keptDetails, revisionOf } from './details/revision.js'
export { handleOf, parseHandle, type TimerHandle } from './name/handle.js'
export { epochMsOf, type Instant } from './instant.js'
export { keyOfRow, keyOfSet } from './name/given-key.js'
export { checkKey, checkKind, checkNamespace, checkTags, nameLimits, nameKey } from './name/name.js'
export {
  comparePlaces,
  earlierOf,
  firstPlace,
  isBefore,
  lastPlace,
  laterOf,
  levelAfter,
  levelAt,
  type Place,
} from './place.js'
export type {
  DeadView,
  PauseView,
  QuotaLimits,
  QuotaView,
  SettledView,
  SetTimer,
  SetTimers,
  TimerView,
} from './answers.js'
export { nameHash, shardOf, shardsOf } from './name/shard-of.js'
export type { TimerContent, TimerName, TimerProgress, TimerRow } from './timer-row.js'
export { checkTraceparent, isTraceparent, traceparentOf } from './trace.js'
export {
  decodeDetails,
  encodeDetails,
  knownDetails,
  occurrenceDueAt,
  type OccurrenceName,
  type TimerDetails,
  UNREADABLE,
} from './details/details.js'
export {
  endingDetails,
  isEnding,
  isPastLast,
  isRecurring,
  lastOutcome,
  lastUnknown,
} from './details/ending.js'
export { freeDetails, heldDetails, type Hold, type Holder, holderOf, isHeld } from './details/holder.js'
export { identityText, newIdentity } from './name/identity.js'
export { latestStartOf, MISSED, type NotAfter } from './details/not-after.js'
export { decodePayload, encodePayload, ownBytes, PayloadEncoder, payloadTextOf } from './payload/payload.js'
export { PayloadColumn } from './payload/payload-column.js'
export {
  defaultRetry,
  parseRetry,
  isSameRetry,
  retryDelayMs,
  type RetryOptions,
  type RetryPolicy,
} from './retry-policy.js'
export {
  type Deliver,
  done,
  ended,
  type Firing,
  type FiringTransaction,
  firingIdOf,
  firingKeyOf,
  type NextOccurrence,
  type Outcome,
} from './firing.js'
