import { checkFunction, checkOptions, InvalidInputError, shown, StateError } from '../error/index.js'
import { type Clock, type Duration, MAX_DURATION_MS, parseDuration, systemClock } from '../time/index.js'
import { TimingWheel } from '../wheel/index.js'
import { type Link, LruList } from './lru-list.js'

export interface ExpiringCacheOptions {
  /** How long a value lives unless `set` says otherwise. */
  readonly ttl: Duration
  /** How far each lifetime may stray either way, as a share of it. Default 0.05. */
  readonly jitter?: number
  /** The most values kept; beyond it the least recently used goes. Default: no limit. */
  readonly limit?: number
  /** How often expired values are let go; none is ever returned after its time. Default 1000. */
  readonly intervalMs?: number
  /** Default: the system clock. */
  readonly clock?: Clock
  /** Draws the jitter, from 0 up to 1. Default: Math.random. */
  readonly random?: () => number
}

export interface CacheStats {
  /** `get` and `take` calls that found a value. */
  readonly hits: number
  /** Those that did not; one that joined a fetch under way counts as a miss. */
  readonly misses: number
  /** hits / (hits + misses), 0 before the first call. */
  readonly hitRate: number
  /** Fetches begun by `take`, and those of them that failed. */
  readonly fetches: number
  readonly failedFetches: number
  /** Values that went because their time was over, and because of the limit. */
  readonly expired: number
  readonly evicted: number
}

const NAMES = ['ttl', 'jitter', 'limit', 'intervalMs', 'clock', 'random']

/**
 * A cache whose values expire. Lifetimes are spread by a jitter, so that keys set together do not expire
 * together; many waiters for one absent key share one fetch; a failed fetch is not cached. A value is never
 * returned after its time, and does not keep the process alive.
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
        `jitter must be from 0 up to, not including, 1, got ${shown(jitter)}`,
      )
    }
    if (!(limit === Infinity || (Number.isSafeInteger(limit) && limit > 0))) {
      throw new InvalidInputError(
        'invalid-option',
        `limit must be a whole number above 0, got ${shown(limit)}`,
      )
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

  /** How many values are kept, the expired not yet let go included. */
  get size(): number {
    return this.#wheel.size
  }

  /** The value of a key, which counts as a use of it. */
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

  /** Whether a key has a value, without counting as a use. */
  has(key: K): boolean {
    return this.#live(key) !== undefined
  }

  /** Keeps a value for `ttl`, or for the lifetime given here; the jitter applies to both. */
  set(key: K, value: V, options: { readonly ttl?: Duration } = {}): void {
    this.#checkRunning()
    checkOptions('set', options, ['ttl'])
    this.#store(key, value, options.ttl === undefined ? this.#ttlMs : parseDuration(options.ttl))
  }

  /** Lets go of a key. False when it had no value. */
  delete(key: K): boolean {
    const item = this.#live(key)
    // A fetch under way began before this: what it brings is no longer wanted.
    this.#fetches.delete(key)
    if (item === undefined) return false
    this.#remove(item)
    return true
  }

  /**
   * The value of a key, fetched if it is absent. All who ask while the fetch is under way wait for that one
   * fetch. Its failure reaches all of them and is not cached. A `set` or `delete` meanwhile prevails over
   * what the fetch brings, which then only goes to those who waited.
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
    // Known before it begins: `fetch` itself may take, set or delete this key.
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

  /** Lets go of everything and ends all activity. Every other call throws from now on. */
  stop(): void {
    this.#isStopped = true
    this.#wheel.stop()
    this.#recency = new LruList()
    this.#fetches.clear()
  }

  #checkRunning(): void {
    if (this.#isStopped) throw new StateError('stopped', 'this cache was stopped: make a new one')
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

  /** Notes that an item left the wheel because its time was over. */
  #expire(item: Item<K, V>): void {
    this.#counts.expired++
    this.#recency.remove(item)
  }
}

interface Item<K, V> extends Link<Item<K, V>> {
  readonly key: K
  readonly value: V
  /** By the monotonic clock. */
  readonly expiresAt: number
}
