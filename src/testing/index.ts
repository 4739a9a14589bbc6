/** For tests: timers on a virtual clock, the simulator, and the store contract as a test suite for any store. */
export { VirtualClock } from '../time/index.js'
export { Random } from './random.js'
export { describeStoreContract } from './store-contract/describe-store-contract.js'
export type { TestRunner } from './store-contract/runner.js'
export type { ContractStoreOptions, OpenContractStore, StoreContractOptions } from './store-contract/suite.js'
export * from './simulation/index.js'
export { type FiredTimer, testTimers, TestTimers, type TestTimersOptions } from './test-timers.js'
