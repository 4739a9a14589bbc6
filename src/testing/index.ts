/** For tests: the proof of the store contract for any backend, and time that stands still until told to move. */
export { VirtualClock } from '../time/index.js'
export { describeStoreContract } from './store-contract/describe-store-contract.js'
export type { TestRunner } from './store-contract/runner.js'
export type { ContractStoreOptions, OpenContractStore, StoreContractOptions } from './store-contract/suite.js'
