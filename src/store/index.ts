/** The store contract, and the stores that come with Carillon. */
export { checkRequested } from './check-write.js'
export { FileStore } from './file/file-store.js'
export type { FileStoreOptions } from './file/file-store-options.js'
export { type Carriage, MemoryStore, type MemoryStoreOptions, type StoreCall } from './memory/memory-store.js'
export { PostgresStore } from './postgres/postgres-store.js'
export type { PostgresStoreOptions } from './postgres/postgres-store-options.js'
export { openStore, type OpenStoreOptions } from './open-store.js'
export type * from './store.js'
