import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { RequestError, shown } from '../../../error/index.js'
import { type Clock, parseDuration } from '../../../time/index.js'
import { IDEMPOTENCY_TTL, MAX_IDEMPOTENCY_KEY_LENGTH, MAX_KEPT_ANSWERS } from '../../defaults.js'
import type { Admission } from '../access.js'
import { KeptAnswers } from './kept-answers.js'
import type { Call, Route } from '../route.js'

interface KeptAnswer {
  readonly fingerprint: string
  readonly answer: unknown
}

/** How a request repeats itself: by this key for its sets, which is the same at every instance. */
export interface RunOnce {
  /** Undefined if the request has no Idempotency-Key. */
  readonly setKey: string | undefined
}

/**
 * Runs a request once per Idempotency-Key. A repeated request gets the answer of the first run. Each instance keeps its
 * own answers in memory, for a day and up to `limit`. Failures are not kept, so a failed request runs again. Sets hold
 * across instances and restarts: their timers get an identity that follows from the key.
 *
 * Proven by test/server/idempotency.test.ts.
 */
export class Idempotency {
  readonly #answers: KeptAnswers<KeptAnswer>
  readonly #running = new Map<string, { readonly fingerprint: string; readonly answer: Promise<unknown> }>()

  constructor(clock: Clock, limit = MAX_KEPT_ANSWERS) {
    this.#answers = new KeptAnswers({ clock, limit, ttlMs: parseDuration(IDEMPOTENCY_TTL) })
  }

  /** Runs `work` once if the request has an Idempotency-Key, and always if it has none. */
  run<Answer>(
    { request, admission, body }: Call<unknown, unknown, unknown>,
    work: (idempotencyKey: string | undefined, once: RunOnce) => Promise<Answer>,
  ): Promise<Answer> {
    const given = request.headers['idempotency-key']
    // A stream can be read only once, so there is no body to compare.
    if (given === undefined || body instanceof Readable) return work(undefined, notOnce)
    const content = [
      request.method,
      request.url,
      body,
      request.headers['if-match'],
      request.headers['if-none-match'],
    ]
    const caller = { apiKeyId: admission.key.id, namespace: admission.namespace }
    return this.runOnce(caller, String(given), content, (setKey) => work(String(given), { setKey }))
  }

  /** Wraps a route so that it runs once per Idempotency-Key. */
  guard(route: Route): Route {
    const { headers = [], refusals = [] } = route
    return {
      ...route,
      headers: [...headers, 'idempotency-key'],
      refusals: [...refusals, 422],
      handle: (call) => this.run(call, async (_, once) => await route.handle({ ...call, once })),
    }
  }

  /** `request` must be the same each time. */
  async runOnce<Answer>(
    { apiKeyId, namespace }: { readonly apiKeyId: string; readonly namespace: string },
    idempotencyKey: string,
    request: unknown,
    work: (setKey: string) => Promise<Answer>,
  ): Promise<Answer> {
    if (!/^[\x21-\x7e]+$/.test(idempotencyKey) || idempotencyKey.length > MAX_IDEMPOTENCY_KEY_LENGTH) {
      throw new RequestError(
        'invalid-body',
        `an Idempotency-Key must have 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} printable ASCII characters without spaces, got ${shown(idempotencyKey)}`,
      )
    }
    const fingerprint = hash('sha256', JSON.stringify(request), 'base64')
    const name = `${apiKeyId}\0${idempotencyKey}`
    const kept = this.#answers.get(namespace, name)
    if (kept !== undefined) {
      checkSame(kept.fingerprint, fingerprint, idempotencyKey)
      return kept.answer as Answer
    }
    const runningName = `${namespace}\0${name}`
    const running = this.#running.get(runningName)
    if (running !== undefined) {
      // A different request must not wait for the running one and get its answer or its error.
      checkSame(running.fingerprint, fingerprint, idempotencyKey)
      return (await running.answer) as Answer
    }
    // The request is part of it: at another instance a different request under this key is another set.
    const working = work(hash('sha256', `${name}\0${fingerprint}`, 'base64'))
    this.#running.set(runningName, { fingerprint, answer: working })
    try {
      const answer = await working
      this.#answers.put(namespace, name, { fingerprint, answer })
      return answer
    } finally {
      this.#running.delete(runningName)
    }
  }
}

const notOnce: RunOnce = Object.freeze({ setKey: undefined })

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
