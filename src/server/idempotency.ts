import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { ExpiringCache } from '../cache/index.js'
import { RequestError, shown } from '../error/index.js'
import type { Clock } from '../time/index.js'
import type { Admission } from './gate.js'
import type { Call, Route } from './route.js'

interface Remembered {
  readonly fingerprint: string
  readonly answer: unknown
}

const LONGEST_KEY = 255
const MOST_REMEMBERED = 100_000

/**
 * Answers a request that comes twice under one Idempotency-Key as it did the first time, without doing it again.
 * Each instance remembers its own, for a day and up to a number (100,000 unless told); what failed is not remembered.
 */
export class Idempotency {
  readonly #answers: ExpiringCache<string, Remembered>
  // Fingerprints of requests that are being worked on.
  readonly #underWay = new Map<string, string>()

  constructor(clock: Clock, limit = MOST_REMEMBERED) {
    this.#answers = new ExpiringCache({ ttl: '1d', limit, jitter: 0, clock })
  }

  /** Does the work of a request once, if it has an Idempotency-Key. */
  of<Answer>(
    { request, admission, body }: Call<unknown, unknown, unknown>,
    work: (idempotencyKey: string | undefined) => Promise<Answer>,
  ): Promise<Answer> {
    const given = request.headers['idempotency-key']
    // What comes as a stream is gone when it was read: there is nothing to compare.
    if (given === undefined || body instanceof Readable) return work(undefined)
    const scope = `${admission.key.id}\0${admission.namespace}`
    const what = [
      request.method,
      request.url,
      body,
      request.headers['if-match'],
      request.headers['if-none-match'],
    ]
    return this.once(scope, String(given), what, () => work(String(given)))
  }

  /** A route that does nothing twice under one Idempotency-Key. */
  guarding(route: Route): Route {
    const { headers = [], refusals = [] } = route
    return {
      ...route,
      headers: [...headers, 'idempotency-key'],
      refusals: [...refusals, 422],
      handle: (call) => this.of(call, async () => await route.handle(call)),
    }
  }

  /** `scope` says whose key it is; `request` is what must be the same the second time. */
  async once<Answer>(
    scope: string,
    idempotencyKey: string,
    request: unknown,
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    if (!/^[\x21-\x7e]+$/.test(idempotencyKey) || idempotencyKey.length > LONGEST_KEY) {
      throw new RequestError(
        'invalid-body',
        `an Idempotency-Key has 1 to ${LONGEST_KEY} printable characters, got ${shown(idempotencyKey)}`,
      )
    }
    const fingerprint = hash('sha256', JSON.stringify(request), 'base64')
    const name = `${scope}\0${idempotencyKey}`
    // Whoever asks for something else is not told what became of this.
    checkSame(this.#underWay.get(name) ?? fingerprint, fingerprint, idempotencyKey)
    const remembered = await this.#answers.take(name, async () => {
      this.#underWay.set(name, fingerprint)
      try {
        return { fingerprint, answer: await work() }
      } finally {
        this.#underWay.delete(name)
      }
    })
    checkSame(remembered.fingerprint, fingerprint, idempotencyKey)
    return remembered.answer as Answer
  }

  stop(): void {
    this.#answers.stop()
  }
}

function checkSame(known: string, fingerprint: string, idempotencyKey: string): void {
  if (known === fingerprint) return
  throw new RequestError(
    'idempotency-mismatch',
    `the Idempotency-Key ${shown(idempotencyKey)} was used for another request`,
  )
}

/**
 * A key for a timer that has none, the same for the same Idempotency-Key of the same caller: also another instance makes
 * it up so. Another caller's is another timer, though both may count from 1.
 */
export function keyFrom({ key }: Admission, idempotencyKey: string): string {
  return hash('sha256', `${key.id}\0${idempotencyKey}`, 'hex').slice(0, 32)
}
