import { type Clock, systemClock, type Wake } from '../../../time/index.js'
import { int8Array } from '../codec/binary-array.js'
import { MAX_RECONNECT_MS, PING_MS, RECONNECT_MS, WAKE_INTERVAL_MS } from '../defaults.js'
import type { Database } from './database.js'
import type { SingleClient } from './driver.js'

const NOTIFY = 'select pg_notify($1, shard::text) from unnest($2::bigint[]) shard'

/** A notification that begins with this names a member that has mail. Others name a shard. */
export const MAIL_MARK = '@'

/** The channel on which the processes of a store wake each other. */
export function wakeChannelOf({ schema }: Database): string {
  return `carillon ${schema}`
}

/**
 * Wake-ups between processes, by NOTIFY and LISTEN. A process sends at most one for each shard in `WAKE_INTERVAL_MS`.
 * A wake-up may get lost. So each time the listening connection is opened, listeners are called for every shard.
 *
 * Proven by test/store/postgres/wake-channel.test.ts and test/store/postgres/wake-ups.test.ts.
 */
export class WakeChannel {
  readonly #database: Database
  readonly #connect: (() => SingleClient) | undefined
  /** The name of the channel. */
  readonly channel: string
  readonly #shardCount: number
  readonly #clock: Clock
  readonly #listeners = new Set<(shard: number) => void>()
  readonly #mailListeners = new Set<(member: string) => void>()
  readonly #lastSent = new Map<number, number>()
  readonly #toSend = new Set<number>()
  readonly #delayed = new Set<number>()
  #delayTimer: Wake | undefined
  #isFlushing = false
  #client: SingleClient | undefined
  #retry: Wake | undefined
  #retryMs = RECONNECT_MS
  #isStopped = false

  /** The clock paces the network traffic. It is the system's, even if the store has another one. */
  constructor(
    database: Database,
    connect: (() => SingleClient) | undefined,
    shardCount: number,
    clock: Clock = systemClock,
  ) {
    this.#database = database
    this.#connect = connect
    this.channel = wakeChannelOf(database)
    this.#shardCount = shardCount
    this.#clock = clock
  }

  wake(shard: number): void {
    if (this.#isStopped) return
    const delayMs = this.#delayMs(shard)
    if (delayMs <= 0) {
      this.#toSend.add(shard)
      this.#flushSoon()
      return
    }
    this.#delayed.add(shard)
    this.#delayTimer ??= this.#clock.wakeAfter(delayMs, this.#wakeDelayed, { keepAlive: false })
  }

  /** How long until the shard may be woken again. */
  #delayMs(shard: number): number {
    return (this.#lastSent.get(shard) ?? -Infinity) + WAKE_INTERVAL_MS - this.#clock.monotonic()
  }

  onWake(listener: (shard: number) => void): () => void {
    // A function of its own, so that a listener that was added twice is called twice, and each is removed alone.
    const added = (shard: number): void => listener(shard)
    this.#listeners.add(added)
    this.#listenOnce()
    return () => void this.#listeners.delete(added)
  }

  onMail(listener: (member: string) => void): () => void {
    const added = (member: string): void => listener(member)
    this.#mailListeners.add(added)
    this.#listenOnce()
    return () => void this.#mailListeners.delete(added)
  }

  #listenOnce(): void {
    if (this.#client === undefined && this.#retry === undefined) void this.#listen()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#listeners.clear()
    this.#mailListeners.clear()
    this.#delayTimer?.cancel()
    this.#retry?.cancel()
    await this.#client?.end().catch(() => undefined)
  }

  readonly #wakeDelayed = (): void => {
    this.#delayTimer = undefined
    // `wake` sends those whose time has come, and delays the others again. The soonest comes first and sets the timer.
    const delayed = [...this.#delayed].sort((one, other) => this.#delayMs(one) - this.#delayMs(other))
    this.#delayed.clear()
    for (const shard of delayed) this.wake(shard)
  }

  /** Sends the wake-ups of one turn of the event loop together, and those that come while a statement is under way. */
  #flushSoon(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    queueMicrotask(() => void this.#flush())
  }

  async #flush(): Promise<void> {
    while (this.#toSend.size > 0) {
      const shards = [...this.#toSend]
      this.#toSend.clear()
      const now = this.#clock.monotonic()
      for (const shard of shards) this.#lastSent.set(shard, now)
      // Owners also poll, so a lost wake-up only costs time.
      await this.#database
        .write('wake', NOTIFY, [this.channel, int8Array(shards, (shard) => shard)])
        .catch(() => undefined)
    }
    this.#isFlushing = false
  }

  async #listen(): Promise<void> {
    const client = this.#connect?.()
    if (client === undefined || this.#isStopped) return
    this.#client = client
    const lost = (): void => {
      if (this.#client === client) this.#reconnect()
    }
    client.on('error', lost)
    client.on('end', lost)
    client.on('notification', ({ payload }) => this.#notified(payload ?? ''))
    try {
      await client.connect()
      await client.query({ text: `listen "${this.channel}"` })
      this.#retryMs = RECONNECT_MS
      for (let shard = 0; shard < this.#shardCount; shard++) this.#callListeners(shard)
      this.#ping(client)
    } catch {
      lost()
    }
  }

  /** A dead connection looks like one without wake-ups. A query shows the difference. */
  #ping(client: SingleClient): void {
    this.#clock.wakeAfter(
      PING_MS,
      () => {
        if (this.#client !== client || this.#isStopped) return
        client.query({ text: 'select 1' }).then(
          () => this.#ping(client),
          () => this.#client === client && this.#reconnect(),
        )
      },
      { keepAlive: false },
    )
  }

  #reconnect(): void {
    const client = this.#client
    this.#client = undefined
    client?.end().catch(() => undefined)
    if (this.#isStopped) return
    this.#retry = this.#clock.wakeAfter(this.#retryMs, () => {
      this.#retry = undefined
      void this.#listen()
    })
    this.#retryMs = Math.min(this.#retryMs * 2, MAX_RECONNECT_MS)
  }

  #notified(payload: string): void {
    if (!payload.startsWith(MAIL_MARK)) {
      this.#callListeners(Number(payload))
      return
    }
    for (const listener of this.#mailListeners) listener(payload.slice(MAIL_MARK.length))
  }

  #callListeners(shard: number): void {
    if (!Number.isInteger(shard)) return
    for (const listener of this.#listeners) listener(shard)
  }
}
