import { systemClock, type Wake } from '../../time/index.js'
import { RedisConnection } from './connection.js'
import type { RedisNodes } from './nodes.js'

const RETRY_MS = 500
// A node of a cluster that fails this often in a row may never come back: another one is listened to.
const MOST_FAILURES = 3

/**
 * Wake-ups through a channel of the server, on a connection of its own. They may get lost; whenever the connection
 * was gone, `onGap` hears of it once it is back. Wake-ups of one shard that come while one is under way are one.
 */
export class WakeChannel {
  readonly #nodes: RedisNodes
  readonly #channel: string
  readonly #onWake: (shard: number) => void
  readonly #onGap: () => void
  readonly #waiting = new Set<number>()
  #connection: RedisConnection | undefined
  #isSending = false
  #isEnded = false
  #check: Wake | undefined
  #turn = 0

  constructor(nodes: RedisNodes, onWake: (shard: number) => void, onGap: () => void) {
    this.#nodes = nodes
    this.#channel = `{${nodes.target.prefix}}:wake`
    this.#onWake = onWake
    this.#onGap = onGap
  }

  /** Listens; rejects when that cannot be begun. */
  async start(): Promise<void> {
    const { addresses, driver, target } = this.#nodes
    const address = addresses[this.#turn++ % addresses.length]!
    const connection = await RedisConnection.open(driver, address, target, () => this.#onGap())
    if (this.#isEnded) {
      connection.end()
      return
    }
    this.#connection = connection
    await connection.subscribe(this.#channel, (message) => this.#onWake(Number(message)))
    this.#check = systemClock.wakeAfter(RETRY_MS, () => this.#look(), { keepAlive: false })
  }

  wake(shard: number): void {
    this.#waiting.add(shard)
    if (!this.#isSending) void this.#send()
  }

  end(): void {
    this.#isEnded = true
    this.#check?.cancel()
    this.#connection?.end()
  }

  async #send(): Promise<void> {
    this.#isSending = true
    while (this.#waiting.size > 0 && !this.#isEnded) {
      const shards = [...this.#waiting]
      this.#waiting.clear()
      const publish = (shard: number) =>
        this.#nodes.call(this.#channel, ['PUBLISH', this.#channel, String(shard)])
      await Promise.allSettled(shards.map(publish))
    }
    this.#isSending = false
  }

  /** Leaves a node that does not come back. */
  #look(): void {
    if (this.#isEnded) return
    const connection = this.#connection
    if (this.#nodes.isCluster && connection !== undefined && connection.failures >= MOST_FAILURES) {
      connection.end()
      this.#connection = undefined
    }
    if (this.#connection !== undefined) {
      this.#check = systemClock.wakeAfter(RETRY_MS, () => this.#look(), { keepAlive: false })
      return
    }
    this.start().then(
      () => this.#onGap(),
      () => {
        this.#connection?.end()
        this.#connection = undefined
        this.#check = systemClock.wakeAfter(RETRY_MS, () => this.#look(), { keepAlive: false })
      },
    )
  }
}
