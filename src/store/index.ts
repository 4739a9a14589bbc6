/** The store contract and the stores that come with Carillon. */
export { checkRequested } from './check/check-write.js'
export { FileStore } from './file/file-store.js'
export { inspectFile } from './file/inspect/inspect-file.js'
export type { FileStoreOptions } from './file/file-store-options.js'
export { type Carriage, MemoryStore, type MemoryStoreOptions, type StoreCall } from './memory/memory-store.js'
export { type PlainScope, SetColumns, type ShardSetColumns, SetColumnsWrite } from './set-columns.js'
export { cursorOf, integerUpTo, parseCursor, textLike } from './cursor.js'
export { hasSchedule } from './filter.js'
export { needsSpace } from './needs-space.js'
export { PostgresStore } from './postgres/postgres-store.js'
export type { PostgresStoreOptions } from './postgres/postgres-store-options.js'
export {
  openStore,
  type OpenStoreOptions,
  parseStoreUrl,
  type StoreLocation,
  type StoreUrl,
} from './open-store.js'
export { RedisStore } from './redis/redis-store.js'
export type { RedisStoreOptions } from './redis/redis-store-options.js'
export { NO_DEADLINE } from './contract/inbox.js'
export type * from './store.js'
export type { Finding, StoredFormat, StoreSurvey } from './survey/survey.js'
export { surveyStore, switchStrategy } from './survey/survey-store.js'
