/** A cache whose values expire on a timing wheel. */
export { type CacheStats, ExpiringCache, type ExpiringCacheOptions } from './expiring-cache.js'
