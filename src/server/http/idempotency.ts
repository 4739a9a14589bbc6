import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { ExpiringCache } from '../../cache/index.js'
import { RequestError, shown } from '../../error/index.js'
import type { Clock } from '../../time/index.js'
import { IDEMPOTENCY_TTL, MAX_IDEMPOTENCY_KEY_LENGTH, MAX_KEPT_ANSWERS } from '../defaults.js'
import type { Admission } from './access.js'
import type { Call, Route } from './route.js'

interface KeptAnswer {
  readonly fingerprint: string
  readonly answer: unknown
}

/**
 * Runs a request once per Idempotency-Key. A repeated request gets the answer of the first run. Each instance keeps its
 * own answers in memory, for a day and up to `limit`. Failures are not kept, so a failed request runs again.
 *
 * Proven by test/server/idempotency.test.ts.
 */
export class Idempotency {
  readonly #answers: ExpiringCache<string, KeptAnswer>
  // Fingerprints of the requests that are running.
  readonly #running = new Map<string, string>()

  constructor(clock: Clock, limit = MAX_KEPT_ANSWERS) {
    this.#answers = new ExpiringCache({ ttl: IDEMPOTENCY_TTL, limit, jitter: 0, clock })
  }

  /** Runs `work` once if the request has an Idempotency-Key, and always if it has none. */
  run<Answer>(
    { request, admission, body }: Call<unknown, unknown, unknown>,
    work: (idempotencyKey: string | undefined) => Promise<Answer>,
  ): Promise<Answer> {
    const given = request.headers['idempotency-key']
    // A stream can be read only once, so there is no body to compare.
    if (given === undefined || body instanceof Readable) return work(undefined)
    const scope = `${admission.key.id}\0${admission.namespace}`
    const content = [
      request.method,
      request.url,
      body,
      request.headers['if-match'],
      request.headers['if-none-match'],
    ]
    return this.runOnce(scope, String(given), content, () => work(String(given)))
  }

  /** Wraps a route so that it runs once per Idempotency-Key. */
  guard(route: Route): Route {
    const { headers = [], refusals = [] } = route
    return {
      ...route,
      headers: [...headers, 'idempotency-key'],
      refusals: [...refusals, 422],
      handle: (call) => this.run(call, async () => await route.handle(call)),
    }
  }

  /** `scope` identifies the caller. `request` must be the same each time. */
  async runOnce<Answer>(
    scope: string,
    idempotencyKey: string,
    request: unknown,
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    if (!/^[\x21-\x7e]+$/.test(idempotencyKey) || idempotencyKey.length > MAX_IDEMPOTENCY_KEY_LENGTH) {
      throw new RequestError(
        'invalid-body',
        `an Idempotency-Key must have 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} printable ASCII characters without spaces, got ${shown(idempotencyKey)}`,
      )
    }
    const fingerprint = hash('sha256', JSON.stringify(request), 'base64')
    const name = `${scope}\0${idempotencyKey}`
    // A different request must not wait for the running one and get its answer or its error.
    checkSame(this.#running.get(name) ?? fingerprint, fingerprint, idempotencyKey)
    const kept = await this.#answers.take(name, async () => {
      this.#running.set(name, fingerprint)
      try {
        return { fingerprint, answer: await work() }
      } finally {
        this.#running.delete(name)
      }
    })
    checkSame(kept.fingerprint, fingerprint, idempotencyKey)
    return kept.answer as Answer
  }

  stop(): void {
    this.#answers.stop()
  }
}

function checkSame(known: string, fingerprint: string, idempotencyKey: string): void {
  if (known === fingerprint) return
  throw new RequestError(
    'idempotency-mismatch',
    `Idempotency-Key ${shown(idempotencyKey)} was already used for a different request`,
  )
}

/**
 * Derives a timer key from an Idempotency-Key, so that a retry at another instance sets the same timer. The API key is
 * part of it: two callers that both count from 1 get different timers.
 */
export function timerKeyFrom({ key }: Admission, idempotencyKey: string): string {
  return hash('sha256', `${key.id}\0${idempotencyKey}`, 'hex').slice(0, 32)
}
