import { createHash } from 'node:crypto'
import type { Reply, Argument } from '../net/connection.js'
import type { CommandTraits, RedisNodes } from '../net/nodes.js'
import { replyCodeOf } from '../net/redis-error.js'

/** A Lua script that the server of its key runs atomically. The source is sent only to a server that does not have it yet. */
export class Script {
  readonly #source: string
  readonly #sha: string
  readonly #traits: CommandTraits

  private constructor(source: string, traits: CommandTraits) {
    this.#source = source
    this.#sha = createHash('sha1').update(source).digest('hex')
    this.#traits = traits
  }

  static writing(source: string): Script {
    return new Script(source, { isWrite: true })
  }

  /**
   * A writing script that also runs when Redis has reached `maxmemory`. Redis checks the limit only before the first
   * write of a script that could need memory. So it begins with a write that needs none, and that changes nothing: the
   * key never expires.
   */
  static writingWhenFull(source: string, isLarge = false): Script {
    return new Script(`redis.call('PERSIST', KEYS[1])\n${source}`, { isWrite: true, isLarge })
  }

  static reading(source: string): Script {
    return new Script(source, {})
  }

  /** A script with a large reply. Only few of them run at once on a connection. */
  static withLargeReply(source: string, isWrite: boolean): Script {
    return new Script(source, { isWrite, isLarge: true })
  }

  async run(nodes: RedisNodes, key: string, args: readonly Argument[]): Promise<Reply> {
    try {
      return await nodes.call(key, ['EVALSHA', this.#sha, '1', key, ...args], this.#traits)
    } catch (error) {
      if (!(error instanceof Error) || replyCodeOf(error.cause) !== 'NOSCRIPT') throw error
      return await nodes.call(key, ['EVAL', this.#source, '1', key, ...args], this.#traits)
    }
  }
}
