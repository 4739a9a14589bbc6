import { RequestError } from '../error/index.js'
import type { ApiKey } from './api-keys.js'

/**
 * Ends calls that wait when their key is revoked or expires: a wait of a minute must not outlive the right to it.
 *
 * Proven by test/server/hostile-keys.test.ts.
 */
export class KeyWatch {
  readonly #isActive: (key: ApiKey) => boolean
  readonly #waiting = new Set<{ readonly key: ApiKey; readonly end: AbortController }>()

  constructor(isActive: (key: ApiKey) => boolean) {
    this.#isActive = isActive
  }

  /** Throws if the key no longer counts. For calls that go on for long. */
  check(key: ApiKey): void {
    if (!this.#isActive(key)) throw keyEnded()
  }

  /**
   * Runs a call that may wait. Its signal is aborted when `gone` is, or when the key no longer counts. In the latter
   * case it fails with 'unauthorized', unless it has an answer.
   */
  async wait<Item>(
    key: ApiKey,
    gone: AbortSignal,
    call: (signal: AbortSignal) => Promise<readonly Item[]>,
  ): Promise<readonly Item[]> {
    const waiting = { key, end: new AbortController() }
    const onGone = (): void => waiting.end.abort(gone.reason)
    gone.addEventListener('abort', onGone)
    if (gone.aborted) onGone()
    this.#waiting.add(waiting)
    try {
      const answer = await call(waiting.end.signal)
      // What it has got is leased already. Without an answer it would wait for the end of its lease.
      if (answer.length === 0) this.check(key)
      return answer
    } finally {
      this.#waiting.delete(waiting)
      gone.removeEventListener('abort', onGone)
    }
  }

  /** Ends the calls whose keys no longer count. */
  endInactive(): void {
    for (const { key, end } of this.#waiting) if (!this.#isActive(key)) end.abort(keyEnded())
  }
}

function keyEnded(): RequestError {
  return new RequestError('unauthorized', 'this key was revoked or has expired')
}
