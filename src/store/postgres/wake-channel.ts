import { type Clock, systemClock, type Wake } from '../../time/index.js'
import { int8Array } from './binary-array.js'
import type { Database } from './database.js'
import type { PostgresClient, SingleClient } from './driver.js'

const QUIET_MS = 50
const PING_MS = 15_000
const RECONNECT_MS = 250
const LONGEST_RECONNECT_MS = 5000

const NOTIFY = 'select pg_notify($1, shard::text) from unnest($2::bigint[]) shard'

/**
 * Wake-ups between processes, by NOTIFY and LISTEN: at most one for each shard in 50 ms. They may get lost; whoever
 * listens is told of every shard once the listening connection stands, and again whenever it had to be made anew,
 * because nobody knows what was said meanwhile.
 */
export class WakeChannel {
  readonly #database: Database
  readonly #connect: (() => SingleClient) | undefined
  readonly #channel: string
  readonly #shardCount: number
  readonly #clock: Clock
  readonly #listeners = new Set<(shard: number) => void>()
  readonly #lastSent = new Map<number, number>()
  readonly #ready = new Set<number>()
  readonly #late = new Set<number>()
  #lateWake: Wake | undefined
  #isFlushing = false
  #client: SingleClient | undefined
  #retry: Wake | undefined
  #retryMs = RECONNECT_MS
  #isStopped = false

  /** Its clock is the network's, whatever clock the store was given. */
  constructor(
    database: Database,
    connect: (() => SingleClient) | undefined,
    shardCount: number,
    clock: Clock = systemClock,
  ) {
    this.#database = database
    this.#connect = connect
    this.#channel = `carillon ${database.schema}`
    this.#shardCount = shardCount
    this.#clock = clock
  }

  wake(shard: number): void {
    if (this.#isStopped) return
    const restMs = this.#restMs(shard)
    if (restMs <= 0) {
      this.#ready.add(shard)
      this.#flushSoon()
      return
    }
    this.#late.add(shard)
    this.#lateWake ??= this.#clock.wakeAfter(restMs, this.#wakeLate, { keepAlive: false })
  }

  /** How long a shard has to be left alone. */
  #restMs(shard: number): number {
    return (this.#lastSent.get(shard) ?? -Infinity) + QUIET_MS - this.#clock.monotonic()
  }

  /** Says it as a part of the caller's transaction: it is heard when that is committed. */
  async wakeWith(client: PostgresClient, shards: readonly number[]): Promise<void> {
    await this.#database.writeWith(client, 'wake', NOTIFY, [
      this.#channel,
      int8Array(shards, (shard) => shard),
    ])
  }

  onWake(listener: (shard: number) => void): () => void {
    // One of its own, so that who listens twice hears twice and stops once.
    const heard = (shard: number): void => listener(shard)
    this.#listeners.add(heard)
    if (this.#client === undefined && this.#retry === undefined) void this.#listen()
    return () => void this.#listeners.delete(heard)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#listeners.clear()
    this.#lateWake?.cancel()
    this.#retry?.cancel()
    await this.#client?.end().catch(() => undefined)
  }

  readonly #wakeLate = (): void => {
    this.#lateWake = undefined
    // Each in its own time: the next that waits decides.
    const late = [...this.#late].sort((one, other) => this.#restMs(one) - this.#restMs(other))
    this.#late.clear()
    for (const shard of late) this.wake(shard)
  }

  /** Those that are asked for in one turn go together. */
  #flushSoon(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    queueMicrotask(() => {
      this.#isFlushing = false
      const shards = [...this.#ready]
      this.#ready.clear()
      const now = this.#clock.monotonic()
      for (const shard of shards) this.#lastSent.set(shard, now)
      // One that gets lost is made up for by polling.
      this.#database
        .write('wake', NOTIFY, [this.#channel, int8Array(shards, (shard) => shard)])
        .catch(() => undefined)
    })
  }

  async #listen(): Promise<void> {
    const client = this.#connect?.()
    if (client === undefined || this.#isStopped) return
    this.#client = client
    const lost = (): void => {
      if (this.#client === client) this.#again()
    }
    client.on('error', lost)
    client.on('end', lost)
    client.on('notification', ({ payload }) => this.#hear(Number(payload)))
    try {
      await client.connect()
      await client.query({ text: `listen "${this.#channel}"` })
      this.#retryMs = RECONNECT_MS
      for (let shard = 0; shard < this.#shardCount; shard++) this.#hear(shard)
      this.#ping(client)
    } catch {
      lost()
    }
  }

  /** A connection that went silent looks like one on which nothing is said: ask. */
  #ping(client: SingleClient): void {
    this.#clock.wakeAfter(
      PING_MS,
      () => {
        if (this.#client !== client || this.#isStopped) return
        client.query({ text: 'select 1' }).then(
          () => this.#ping(client),
          () => this.#client === client && this.#again(),
        )
      },
      { keepAlive: false },
    )
  }

  #again(): void {
    const client = this.#client
    this.#client = undefined
    client?.end().catch(() => undefined)
    if (this.#isStopped) return
    this.#retry = this.#clock.wakeAfter(this.#retryMs, () => {
      this.#retry = undefined
      void this.#listen()
    })
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RECONNECT_MS)
  }

  #hear(shard: number): void {
    if (!Number.isInteger(shard)) return
    for (const listener of this.#listeners) listener(shard)
  }
}
