import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Store } from '../../store/index.js'

const NAME = 'cluster/secret'

type Purpose = 'pass' | 'ask' | 'answer'

/**
 * A secret that the instances of one store share. The first instance creates it and keeps it in the store. It signs the
 * messages between instances. It is never sent, logged or shown.
 *
 * Proven by test/server/forwarding.test.ts.
 */
export class ClusterSecret {
  readonly #secret: Buffer

  private constructor(secret: Buffer) {
    this.#secret = secret
  }

  static async of(store: Store): Promise<ClusterSecret> {
    const stored = await store.settings(NAME)
    if (stored.length === 0) {
      // Several instances may start at once: the first write wins, and all read it back.
      await store.putSetting(NAME, randomBytes(32).toString('base64'), 0)
      return await ClusterSecret.of(store)
    }
    return new ClusterSecret(Buffer.from(stored[0]!.value, 'base64'))
  }

  /** `purpose` is part of the signature, so that nobody can replay a request as an answer. */
  signatureOf(purpose: Purpose, text: string): string {
    return createHmac('sha256', this.#secret).update(purpose).update('\n').update(text).digest('base64url')
  }

  isSigned(purpose: Purpose, text: string, signature: unknown): boolean {
    if (typeof signature !== 'string') return false
    const [wanted, got] = [Buffer.from(this.signatureOf(purpose, text)), Buffer.from(signature)]
    return wanted.length === got.length && timingSafeEqual(wanted, got)
  }
}
