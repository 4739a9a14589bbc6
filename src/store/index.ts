/** The store contract, and the stores that come with Carillon. */
export { checkRequested } from './check-write.js'
export { FileStore } from './file/file-store.js'
export type { FileStoreOptions } from './file/file-store-options.js'
export { type Carriage, MemoryStore, type MemoryStoreOptions, type StoreCall } from './memory/memory-store.js'
export { openStore, type OpenStoreOptions } from './open-store.js'
export { RedisStore } from './redis/redis-store.js'
export type { RedisStoreOptions } from './redis/redis-store-options.js'
export type * from './store.js'
