import { FewAtOnce } from '../few-at-once.js'
import type { Reply } from './connection.js'

// About what a process reads while the server makes as much again.
const BYTES_UNDER_WAY = 3_000_000
const LEAST = 2
const MOST = 8

/**
 * Commands with large replies, such as pages, on one connection. A server sends no reply before it has carried out
 * every command it has received by then: of pages that are all asked for at once the first would come when the last
 * is done. So few large ones are asked for at once, and more of small ones, whose way would else take longer than
 * their making.
 */
export class LargeReplies {
  readonly #few = new FewAtOnce(LEAST)

  run(call: () => Promise<Reply>): Promise<Reply> {
    return this.#few.run(async () => {
      const reply = await call()
      const fitting = Math.floor(BYTES_UNDER_WAY / (bytesOf(reply) + 1))
      this.#few.allow(Math.max(LEAST, Math.min(MOST, fitting)))
      return reply
    })
  }
}

/** What the texts of a reply weigh, those of its lists too. */
function bytesOf(reply: Reply): number {
  if (Array.isArray(reply)) return reply.reduce<number>((sum, each) => sum + bytesOf(each), 0)
  return reply instanceof Uint8Array ? reply.length : 0
}
