import type { SimulateOptions } from '../../src/testing/simulation/index.js'

export interface Regression extends Pick<SimulateOptions, 'onlyFaults' | 'onlyOperations'> {
  readonly seed: number
  /** The point of the issue that this seed showed. */
  readonly point: number
  readonly title: string
  /** The mutant in mutants.ts that makes this seed fail. */
  readonly mutant?: string
}

// Each seed failed before the fix of its point. Where a mutant is named, it undoes that fix, and the seed notices it:
// `npm run sim:mutants` checks that. Other changes may make a seed another run, which no longer notices the mutant.
export const regressions: readonly Regression[] = [
  {
    seed: 7070,
    point: 1,
    title: 'memory is full of timers that wait for requests that need room',
  },
  {
    seed: 962,
    point: 2,
    title: "a shard is acquired while the store's clock is ahead, and timers are due at once later",
  },
  {
    seed: 21511,
    point: 4,
    title: 'an instance applies a long inbox of a shard without an owner, and another instance starts',
    mutant: 'a visit ends only when the inbox is empty',
  },
  {
    seed: 23359,
    onlyFaults: [3, 16, 501],
    onlyOperations: [7, 17],
    point: 2,
    title: "the store's clock is set forward, and the process with an offer acquires the shard",
    mutant: "an offer from before the store's clock was set forward still counts",
  },
  {
    seed: 324,
    point: 2,
    title: "an owner dies while the store's clock is ahead, and the clock is corrected",
    mutant: 'a lease from a clock that was ahead is never cut short',
  },
  {
    seed: 612,
    onlyFaults: [311, 502],
    onlyOperations: [1, 2, 4, 9, 10, 11],
    point: 2,
    title: 'an overdue timer is written while the measured store time is ahead, and its owner stops',
  },
  {
    seed: 3737,
    onlyFaults: [12, 501],
    onlyOperations: [20, 26],
    point: 2,
    title: 'an acquisition is sent again and must remember how far the last owner had read',
    mutant: 'rows whose position is later than their due time are not loaded',
  },
  {
    seed: 3040,
    onlyFaults: [4, 501, 502],
    onlyOperations: [55, 57, 71, 74],
    point: 2,
    title: 'the clock is ahead, and is set back in small steps later',
  },
  {
    seed: 3923,
    point: 2,
    title: 'rows are put back while the clock is ahead, and their owner is lost',
  },
  {
    seed: 6504,
    point: 2,
    title: 'the window is shortened after the next load was planned by a clock that was ahead',
  },
  {
    seed: 5789,
    onlyFaults: [13, 502],
    onlyOperations: [78],
    point: 2,
    title: 'an instance joins after a member died while the clock was ahead',
    mutant: 'a heartbeat from a clock that was ahead is never cut short',
  },
  {
    seed: 2230,
    onlyFaults: [8, 501],
    onlyOperations: [57],
    point: 2,
    title: 'an inbox forgets a request when the clock is set forward, and the request arrives again',
  },
  {
    seed: 2307,
    onlyFaults: [9, 502],
    onlyOperations: [88, 106],
    point: 2,
    title: 'a request arrives late, after its retry was answered and forgotten',
    mutant: 'a request that the inbox has forgotten is accepted again',
  },
  {
    seed: 289,
    point: 2,
    title: 'timers have positions at a level that is ahead of the clock',
    mutant: 'rows whose position is later than their due time are not loaded',
  },
  {
    seed: 17,
    point: 3,
    title: 'the next owner counts a carried attempt once',
    mutant: 'a carried row records its running attempt',
  },
  {
    seed: 48,
    point: 4,
    title: 'timers become due while an instance joins',
    mutant: 'due timers do not start while a shard is released',
  },
  {
    seed: 1,
    point: 4,
    title: 'an attempt goes on in its process after its shard was released',
    mutant: 'a held row is started by its new owner',
  },
  {
    seed: 29,
    point: 4,
    title: 'the holder of a handed-over attempt dies',
    mutant: 'a holder that is gone counts as alive',
  },
  {
    seed: 2184,
    onlyFaults: [1, 2, 3, 27, 28, 103],
    onlyOperations: [
      2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 15, 16, 17, 18, 19, 20, 43, 46, 47, 48, 49, 54, 55, 57, 60, 61, 62, 64,
      66, 68, 69, 72, 73, 74, 75, 76, 85, 92,
    ],
    point: 4,
    title: 'a holder dies while its report waits in the inbox',
  },
  {
    seed: 20403,
    point: 4,
    title: 'an owner that is leaving hands an attempt over and settles once more',
  },
  {
    seed: 15035,
    onlyFaults: [1, 2, 4, 7, 8, 9, 12, 14, 15, 17, 30, 201, 202, 203],
    onlyOperations: [
      1, 2, 5, 6, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24, 25, 26, 27, 28, 29, 31, 33, 37,
      39, 40, 43, 48, 51, 54, 55, 58, 59, 62, 70, 72, 73, 75, 77, 78,
    ],
    point: 4,
    title: 'a hand-over is stored, its answer is lost, and the shard is lost before it can be looked up',
  },
  {
    seed: 88686,
    onlyFaults: [5, 6, 14, 201, 403],
    onlyOperations: [6, 16, 39, 40],
    point: 4,
    title: 'an attempt that was handed over unstarted is started, and handed over once more',
  },
  {
    seed: 63845,
    onlyFaults: [4, 5, 8, 10, 11, 12, 14, 18, 19, 21, 28, 30, 31, 202, 204],
    onlyOperations: [8, 9, 18, 20, 23, 31, 35],
    point: 4,
    title: 'an instance that was cut off passes over a member that took no shard meanwhile',
  },
  {
    seed: 99340,
    onlyFaults: [1, 8, 9, 11, 301, 302, 303, 310, 311, 312, 314, 315, 316],
    onlyOperations: [6, 9, 10, 13],
    point: 4,
    title: 'a claim is refused, and granted to its first sending later',
  },
  {
    seed: 91662,
    point: 4,
    title: 'a claim is refused, and granted to its first sending later, with crashes',
  },
  { seed: 291, point: 4, title: 'attempts that are done during a rebalance do not become dead letters' },
  {
    seed: 1228,
    onlyFaults: [],
    onlyOperations: [9, 12, 18, 19, 21, 22],
    point: 4,
    title: 'a firing that was delivered and not started is handed over',
  },
  {
    seed: 280,
    onlyFaults: [6],
    onlyOperations: [4],
    point: 4,
    title: 'a firing that was handed over before it started does not count as an attempt',
  },
  {
    seed: 1560,
    onlyFaults: [2, 8, 10, 103],
    onlyOperations: [3, 4],
    point: 4,
    title: 'a second settlement follows the one that handed an attempt over',
  },
  {
    seed: 1047,
    onlyFaults: [303, 501],
    onlyOperations: [1],
    point: 5,
    title: "the store's clock is set back while a firing waits to be started",
    mutant: 'the due time is not checked at each start',
  },
  {
    seed: 158,
    point: 5,
    title: 'a blocked event loop goes on after its lease is over',
  },
  {
    seed: 6,
    point: 5,
    title: 'a timer is replaced while its firing waits to be started',
  },
  {
    seed: 601558,
    onlyFaults: [1, 3, 4, 8, 9, 10, 11, 12, 17, 21, 26],
    onlyOperations: [
      1002, 1046, 4, 1057, 1031, 1037, 8, 1026, 9, 1012, 10, 11, 1056, 12, 13, 17, 18, 19, 1022, 1053, 1054,
    ],
    point: 3,
    title:
      'a timer is cancelled while it fires, its new revision is above the read level, and its owner is lost',
    mutant: 'a timer that was cancelled while it fired is a suspect only below the read level',
  },
  {
    seed: 500152,
    onlyFaults: [2, 6, 306],
    onlyOperations: [3, 13],
    point: 5,
    title: 'a request replaces a timer whose firing starts late, and the answer to its write is slow',
    mutant: 'a timer starts late although a request that replaces it is under way',
  },
  {
    seed: 12,
    point: 6,
    title: "an instance has a clock that is ahead of the store's",
    mutant: "due times are compared with the machine's clock",
  },
  {
    seed: 32,
    point: 6,
    title: 'an instance has a clock that is far off',
    mutant: 'an instance whose clock is off keeps its shards',
  },
]

// Each seed failed because a check of the simulator asked too much. docs/simulation.md says what is checked now.
export const mendedChecks: readonly { readonly seed: number; readonly title: string }[] = [
  { seed: 4390, title: "two attempts have one number after the store's clock was set back" },
  { seed: 40316, title: 'a client waits for a blocked process until every other timer has ended' },
  { seed: 33651, title: 'a client waits for a blocked process until every other timer has ended, once more' },
  { seed: 33760, title: "the store's clock drifts away from the only machine during a calm of minutes" },
  { seed: 17133, title: 'a call of the owner gets its error only after the shard was taken over' },
  {
    seed: 35663,
    title: 'a call of the owner gets its error only after the shard was taken over, with crashes',
  },
  {
    seed: 35771,
    title: 'a call of the owner gets its error only after the shard was taken over, with releases',
  },
  {
    seed: 39917,
    title: 'a call of the owner gets its error only after the shard was taken over, with retries',
  },
  { seed: 11721, title: "the store's clock is set back and forward, and forgets the heartbeat of a holder" },
  { seed: 21725, title: "the store's clock is set forward, and forgets the heartbeat of a holder" },
  {
    seed: 41281,
    title: "the store's clock is set forward for 203 ms, and forgets the heartbeat of a holder",
  },
  {
    seed: 44606,
    title: 'all clocks are set forward for 214 ms, and the store forgets the heartbeat of a holder',
  },
  {
    seed: 80216,
    title: 'two owners are lost while the clock is ahead, and the second has not recorded an attempt',
  },
  { seed: 98259, title: 'an owner whose lease ended early starts a timer that the new owner has retried' },
  {
    seed: 21990,
    title: 'a timer is cancelled during an attempt that follows one whose report came too late',
  },
  {
    seed: 700206,
    title: 'a timer is cancelled while it fires, and its process loses the shard and gets it back',
  },
  {
    seed: 707382,
    title: 'a timer is cancelled while it fires, and its process loses the shard to a visit and gets it back',
  },
  { seed: 36116, title: 'the only machine is cut off or stops all the time, and fires only 4 timers' },
]
