/** For tests: the proof of the store contract for any backend, the simulator of engines in trouble, and time that stands still until told to move. */
export { VirtualClock } from '../time/index.js'
export { describeStoreContract } from './store-contract/describe-store-contract.js'
export type { TestRunner } from './store-contract/runner.js'
export type { ContractStoreOptions, OpenContractStore, StoreContractOptions } from './store-contract/suite.js'
export * from './simulation/index.js'
