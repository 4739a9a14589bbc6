import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Store } from '../../store/index.js'

const NAME = 'cluster/secret'

type Purpose = 'pass' | 'ask' | 'answer'

/**
 * What only the instances of one store know: it is made when the first of them starts, and kept in the store. It signs
 * what they say to each other; it is never sent, logged or shown.
 */
export class ClusterSecret {
  readonly #secret: Buffer

  private constructor(secret: Buffer) {
    this.#secret = secret
  }

  static async of(store: Store): Promise<ClusterSecret> {
    const known = await store.settings(NAME)
    if (known.length === 0) {
      // Of several that start at once, the first one's is everybody's.
      await store.putSetting(NAME, randomBytes(32).toString('base64'), 0)
      return await ClusterSecret.of(store)
    }
    return new ClusterSecret(Buffer.from(known[0]!.value, 'base64'))
  }

  /** `purpose` keeps a question from being taken for an answer. */
  signatureOf(purpose: Purpose, text: string): string {
    return createHmac('sha256', this.#secret).update(purpose).update('\n').update(text).digest('base64url')
  }

  isSigned(purpose: Purpose, text: string, signature: unknown): boolean {
    if (typeof signature !== 'string') return false
    const [wanted, got] = [Buffer.from(this.signatureOf(purpose, text)), Buffer.from(signature)]
    return wanted.length === got.length && timingSafeEqual(wanted, got)
  }
}
