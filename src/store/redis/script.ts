import { createHash } from 'node:crypto'
import type { Reply, Word } from './connection.js'
import type { CommandTraits, RedisNodes } from './nodes.js'
import { replyCodeOf } from './redis-error.js'

/** A script that runs on the server of its one key, in one step. It is sent whole only to a server that does not know it. */
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

  static reading(source: string): Script {
    return new Script(source, {})
  }

  /** One whose reply is large: few of them run at once on a connection. */
  static paging(source: string, isWrite: boolean): Script {
    return new Script(source, { isWrite, isLarge: true })
  }

  async run(nodes: RedisNodes, key: string, words: readonly Word[]): Promise<Reply> {
    try {
      return await nodes.call(key, ['EVALSHA', this.#sha, '1', key, ...words], this.#traits)
    } catch (error) {
      if (!(error instanceof Error) || replyCodeOf(error.cause) !== 'NOSCRIPT') throw error
      return await nodes.call(key, ['EVAL', this.#source, '1', key, ...words], this.#traits)
    }
  }
}
