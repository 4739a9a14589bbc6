/** What a simulation checks: the promises of docs/protocol.md by number, and some properties by name. */
export const promises = Object.freeze({
  1: 'an acknowledged timer is delivered or dead-lettered',
  2: 'never early',
  3: 'once settled, never again',
  4: 'cancelled means no attempt starts afterwards',
  5: 'a range deletion removes only settled rows',
  6: 'every unsettled row is in memory or at or above the read level',
  7: 'epochs only rise, no write commits under an old fence',
  8: 'levels never go back',
  9: 'the same set twice is one timer',
  10: 'an error leaves a timer wholly there or wholly absent',
  11: 'attempts rise and stay explained, the firing id is stable',
  14: 'memory stays under its cap',
  15: "a dead owner's shard fires again in time",
  16: 'after an acknowledgement nothing starts that it replaced',
  17: 'every process sees what was acknowledged to any process',
  18: 'calls work while no instance is started',
  19: 'a due timer starts at an instance that handles its kind',
  21: "a call that was answered 'not-done' never takes effect",
  fit: 'an instance whose clock is far off starts nothing',
  'hand-over': 'no attempt starts while one runs in a process that let go of the shard and lives',
  rebalance: 'a rebalance does not hold up what is due',
  success: 'no success becomes a dead letter',
  order: 'what was acknowledged comes before what is asked for later, key by key',
  face: 'the engine answers what is so, and does not throw',
  counters: 'created = rows + settled + cancelled + replaced + dead',
  activity: 'a run does enough to mean something',
})

/** A promise of docs/protocol.md that the simulator checks. */
export type PromiseName = keyof typeof promises

/** The promises that clients and handlers can check themselves, without looking into the store. */
export const outerPromises: readonly PromiseName[] = Object.freeze([
  1,
  2,
  3,
  4,
  9,
  11,
  16,
  17,
  18,
  'hand-over',
  'success',
  'order',
])

/** A broken promise. */
export interface Violation {
  readonly promise: PromiseName
  readonly text: string
  /** True milliseconds since the run began. */
  readonly at: number
}

/** The violation as one line. */
export function violationText({ promise, text, at }: Violation): string {
  return `promise ${promise} (${promises[promise]}) broken at ${(at / 1000).toFixed(3)} s: ${text}`
}
