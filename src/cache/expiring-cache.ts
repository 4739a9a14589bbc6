import { checkFunction, checkOptions, InvalidInputError, shown, StateError } from '../error/index.js'
import { type Clock, type Duration, MAX_DURATION_MS, parseDuration, systemClock } from '../time/index.js'
import { TimingWheel } from '../wheel/index.js'
import { type Link, LruList } from './lru-list.js'

/** The options of an `ExpiringCache`. */
export interface ExpiringCacheOptions {
  /** The lifetime of a value unless `set` or `take` gives another. */
  readonly ttl: Duration
  /** How much each lifetime may vary in both directions, as a fraction of it. Default: 0.05. */
  readonly jitter?: number
  /** The maximum number of values. Beyond it, the least recently used is evicted. Default: no limit. */
  readonly limit?: number
  /**
   * How often expired values are removed. An expired value is never returned, even before that. Default:
   * 1000.
   */
  readonly intervalMs?: number
  /** Default: the system clock. */
  readonly clock?: Clock
  /** Returns the random number for the jitter, at least 0 and less than 1. Default: Math.random. */
  readonly random?: () => number
}

/** What a cache counted since it was made. */
export interface CacheStats {
  /** Calls of `get` and `take` that found a value. */
  readonly hits: number
  /** Calls of `get` and `take` that found none. Waiting for a running fetch counts as a miss. */
  readonly misses: number
  /** hits / (hits + misses). 0 before the first hit. */
  readonly hitRate: number
  /** Fetches that `take` started, and how many of them failed. */
  readonly fetches: number
  readonly failedFetches: number
  /** Values that were removed because they expired, and because of the limit. */
  readonly expired: number
  readonly evicted: number
}

const NAMES = ['ttl', 'jitter', 'limit', 'intervalMs', 'clock', 'random']

/**
 * A cache whose values expire. A jitter spreads lifetimes, so that keys set together do not expire together.
 * Many callers that wait for the same missing key share one fetch. A failed fetch is not cached. An expired
 * value is never returned. The cache does not keep the process alive.
 *
 * Proven by test/cache/expiring-cache.test.ts.
 */
export class ExpiringCache<K, V> {
  readonly #ttlMs: number
  readonly #jitter: number
  readonly #limit: number
  readonly #clock: Clock
  readonly #random: () => number
  readonly #wheel: TimingWheel<K, Item<K, V>>
  #recency = new LruList<Item<K, V>>()
  readonly #fetches = new Map<K, Promise<V>>()
  readonly #counts = { hits: 0, misses: 0, fetches: 0, failedFetches: 0, expired: 0, evicted: 0 }
  #isStopped = false

  constructor(options: ExpiringCacheOptions) {
    checkOptions('ExpiringCache', options, NAMES)
    const {
      jitter = 0.05,
      limit = Infinity,
      intervalMs = 1000,
      clock = systemClock,
      random = Math.random,
    } = options
    if (!(typeof jitter === 'number' && jitter >= 0 && jitter < 1)) {
      throw new InvalidInputError(
        'invalid-option',
        `jitter must be at least 0 and less than 1, got ${shown(jitter)}`,
      )
    }
    if (!(limit === Infinity || (Number.isSafeInteger(limit) && limit > 0))) {
      throw new InvalidInputError('invalid-option', `limit must be an integer above 0, got ${shown(limit)}`)
    }
    checkFunction('random', random)
    this.#ttlMs = parseDuration(options.ttl)
    this.#jitter = jitter
    this.#limit = limit
    this.#clock = clock
    this.#random = random
    this.#wheel = new TimingWheel({
      intervalMs,
      clock,
      keepAlive: false,
      execute: (_key, item) => this.#expire(item),
    })
  }

  /** The number of values, including expired ones that have not been removed yet. */
  get size(): number {
    return this.#wheel.size
  }

  /** Returns the value of a key and marks it as used. */
  get(key: K): V | undefined {
    const item = this.#live(key)
    if (item === undefined) {
      this.#counts.misses++
      return undefined
    }
    this.#counts.hits++
    this.#recency.touch(item)
    return item.value
  }

  /** Whether a key has a value. Does not mark it as used. */
  has(key: K): boolean {
    return this.#live(key) !== undefined
  }

  /** Stores a value for `ttl`, or for the lifetime given here. The jitter applies to both. */
  set(key: K, value: V, options: { readonly ttl?: Duration } = {}): void {
    this.#checkRunning()
    checkOptions('set', options, ['ttl'])
    this.#store(key, value, options.ttl === undefined ? this.#ttlMs : parseDuration(options.ttl))
  }

  /** Removes a key. Returns false if it had no value. */
  delete(key: K): boolean {
    const item = this.#live(key)
    // The result of a fetch that started before the delete must not be stored.
    this.#fetches.delete(key)
    if (item === undefined) return false
    this.#remove(item)
    return true
  }

  /**
   * Returns the value of a key. If it is missing, fetches it. Callers that ask while the fetch is running
   * wait for the same fetch. If it fails, all of them get the error, and nothing is cached. A `set` or
   * `delete` during the fetch wins: the result then goes to the waiting callers only.
   */
  async take(
    key: K,
    fetch: (key: K) => V | Promise<V>,
    options: { readonly ttl?: Duration } = {},
  ): Promise<V> {
    checkFunction('fetch', fetch)
    checkOptions('take', options, ['ttl'])
    const ttlMs = options.ttl === undefined ? this.#ttlMs : parseDuration(options.ttl)
    const item = this.#live(key)
    if (item !== undefined) {
      this.#counts.hits++
      this.#recency.touch(item)
      return item.value
    }
    this.#counts.misses++
    const underWay = this.#fetches.get(key)
    if (underWay !== undefined) return await underWay
    // Register the promise before calling `fetch`, because `fetch` itself may take, set or delete this key.
    let begin = (): void => {}
    const fetched = new Promise<V>((resolve) => {
      begin = () => resolve(this.#fetch(key, fetch))
    })
    this.#fetches.set(key, fetched)
    begin()
    try {
      const value = await fetched
      if (this.#fetches.get(key) === fetched && !this.#isStopped) this.#store(key, value, ttlMs)
      return value
    } finally {
      if (this.#fetches.get(key) === fetched) this.#fetches.delete(key)
    }
  }

  stats(): CacheStats {
    const { hits, misses } = this.#counts
    return { ...this.#counts, hitRate: hits === 0 ? 0 : hits / (hits + misses) }
  }

  /** Removes everything and stops all activity. Every other call throws from now on. */
  stop(): void {
    this.#isStopped = true
    this.#wheel.stop()
    this.#recency = new LruList()
    this.#fetches.clear()
  }

  #checkRunning(): void {
    if (this.#isStopped) throw new StateError('stopped', 'this cache was stopped: create a new one')
  }

  async #fetch(key: K, fetch: (key: K) => V | Promise<V>): Promise<V> {
    this.#counts.fetches++
    try {
      return await fetch(key)
    } catch (error) {
      this.#counts.failedFetches++
      throw error
    }
  }

  #live(key: K): Item<K, V> | undefined {
    this.#checkRunning()
    const item = this.#wheel.get(key)
    if (item === undefined || item.expiresAt > this.#clock.monotonic()) return item
    this.#wheel.remove(key)
    this.#expire(item)
    return undefined
  }

  #store(key: K, value: V, ttlMs: number): void {
    this.#fetches.delete(key)
    const lifeMs = Math.min(ttlMs * (1 + this.#jitter * (2 * this.#random() - 1)), MAX_DURATION_MS)
    const expiresAt = this.#clock.monotonic() + lifeMs
    const before = this.#wheel.get(key)
    const item: Item<K, V> = { key, value, expiresAt, newer: undefined, older: undefined }
    this.#wheel.set(key, item, lifeMs)
    if (before !== undefined) this.#recency.remove(before)
    this.#recency.add(item)
    if (this.#wheel.size <= this.#limit) return
    this.#counts.evicted++
    this.#remove(this.#recency.oldest!)
  }

  #remove(item: Item<K, V>): void {
    this.#recency.remove(item)
    this.#wheel.remove(item.key)
  }

  /** Updates the counts and the list after an expired item has left the wheel. */
  #expire(item: Item<K, V>): void {
    this.#counts.expired++
    this.#recency.remove(item)
  }
}

interface Item<K, V> extends Link<Item<K, V>> {
  readonly key: K
  readonly value: V
  /** By the monotonic clock, in milliseconds. */
  readonly expiresAt: number
}
