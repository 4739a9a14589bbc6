import { systemClock, type Wake } from '../../../time/index.js'
import { MAX_WAKE_FAILURES, WAKE_CHECK_MS } from '../defaults.js'
import { RedisConnection } from './connection.js'
import type { RedisNodes } from './nodes.js'
import { MAIL_MARK } from '../keys.js'

interface WakeListener {
  readonly onWake: (shard: number) => void
  readonly onMail: (member: string) => void
}

/**
 * Sends and receives wake-ups through a pub/sub channel. It listens on its own connection. Wake-ups may get lost: after
 * every reconnect the channel calls `onGap`. Wake-ups of one shard are merged while others are being sent.
 *
 * Proven by test/store/redis/losses.test.ts and test/store/redis/failover.test.ts.
 */
export class WakeChannel {
  readonly #nodes: RedisNodes
  readonly #channel: string
  readonly #listener: WakeListener
  readonly #onGap: () => void
  readonly #waiting = new Set<number>()
  #connection: RedisConnection | undefined
  #isSending = false
  #isStopped = false
  #check: Wake | undefined
  #nextNode = 0

  constructor(nodes: RedisNodes, listener: WakeListener, onGap: () => void) {
    this.#nodes = nodes
    this.#channel = `{${nodes.target.prefix}}:wake`
    this.#listener = listener
    this.#onGap = onGap
  }

  /** Starts to listen. Rejects when it cannot connect or subscribe. */
  async start(): Promise<void> {
    const { addresses, driver, target } = this.#nodes
    const address = addresses[this.#nextNode++ % addresses.length]!
    const connection = await RedisConnection.open(driver, address, target, () => this.#onGap())
    if (this.#isStopped) {
      connection.close()
      return
    }
    this.#connection = connection
    await connection.subscribe(this.#channel, (message) => this.#received(message))
    this.#check = systemClock.wakeAfter(WAKE_CHECK_MS, () => this.#checkConnection(), { keepAlive: false })
  }

  #received(message: string): void {
    if (message.startsWith(MAIL_MARK)) this.#listener.onMail(message.slice(MAIL_MARK.length))
    else this.#listener.onWake(Number(message))
  }

  wake(shard: number): void {
    this.#waiting.add(shard)
    if (!this.#isSending) void this.#send()
  }

  stop(): void {
    this.#isStopped = true
    this.#check?.cancel()
    this.#connection?.close()
  }

  async #send(): Promise<void> {
    this.#isSending = true
    while (this.#waiting.size > 0 && !this.#isStopped) {
      const shards = [...this.#waiting]
      this.#waiting.clear()
      const publish = (shard: number) =>
        this.#nodes.call(this.#channel, ['PUBLISH', this.#channel, String(shard)])
      await Promise.allSettled(shards.map(publish))
    }
    this.#isSending = false
  }

  /** Checks the connection from time to time. In a cluster it leaves a node that does not come back. */
  #checkConnection(): void {
    if (this.#isStopped) return
    const connection = this.#connection
    if (this.#nodes.isCluster && connection !== undefined && connection.failures >= MAX_WAKE_FAILURES) {
      connection.close()
      this.#connection = undefined
    }
    if (this.#connection !== undefined) {
      this.#check = systemClock.wakeAfter(WAKE_CHECK_MS, () => this.#checkConnection(), { keepAlive: false })
      return
    }
    this.start().then(
      () => this.#onGap(),
      () => {
        this.#connection?.close()
        this.#connection = undefined
        this.#check = systemClock.wakeAfter(WAKE_CHECK_MS, () => this.#checkConnection(), {
          keepAlive: false,
        })
      },
    )
  }
}
