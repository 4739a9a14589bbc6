import { Semaphore } from '../../../async/index.js'
import { LARGE_REPLY_BYTES_IN_FLIGHT, MAX_LARGE_REPLIES, MIN_LARGE_REPLIES } from '../defaults.js'
import type { Reply } from './connection.js'

/**
 * Limits how many commands with large replies, such as pages, run at once on one connection. A server sends no reply
 * before it has run every command that it has received by then. If all pages were requested at once, the first would
 * arrive when the last is done. So only few large pages are requested at once. Small pages may be more: their time on
 * the network would otherwise exceed the server's work.
 *
 * Proven by test/store/redis/large-replies.test.ts.
 */
export class LargeReplies {
  readonly #semaphore = new Semaphore(MIN_LARGE_REPLIES)

  run(call: () => Promise<Reply>): Promise<Reply> {
    return this.#semaphore.run(async () => {
      const reply = await call()
      const fitting = Math.floor(LARGE_REPLY_BYTES_IN_FLIGHT / (bytesOf(reply) + 1))
      this.#semaphore.setLimit(Math.max(MIN_LARGE_REPLIES, Math.min(MAX_LARGE_REPLIES, fitting)))
      return reply
    })
  }
}

/** The bytes of all strings in a reply. */
function bytesOf(reply: Reply): number {
  if (Array.isArray(reply)) return reply.reduce<number>((sum, each) => sum + bytesOf(each), 0)
  return reply instanceof Uint8Array ? reply.length : 0
}
