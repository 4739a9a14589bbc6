import { type Duration, parseDuration } from '../../time/index.js'
import type { HttpAnswer } from './http-sender.js'

/** What a target's answer means for the timer. */
export type AnswerOutcome =
  | { readonly type: 'done' }
  | { readonly type: 'again'; readonly in: Duration }
  | { readonly type: 'retry'; readonly reason: string; readonly afterMs: number | undefined }
  | { readonly type: 'dead'; readonly reason: string; readonly isGone: boolean }

const retried: ReadonlySet<number> = new Set([408, 425, 429])
const MOST_RETRY_AFTER_MS = 7 * 86_400_000

/**
 * 2xx is done, or again when its JSON says so; 408, 425, 429 and 5xx are tried again, not before `Retry-After`; other
 * 4xx are given up, and 410 says that the target is gone for good. A redirect is a failure: it is not followed.
 */
export function outcomeOf(answer: HttpAnswer, now: number): AnswerOutcome {
  const { status } = answer
  if (status >= 200 && status < 300) return readAnswer(answer)
  if (status >= 500 || retried.has(status))
    return { type: 'retry', reason: `the target answered ${status}`, afterMs: retryAfterMs(answer, now) }
  if (status >= 300 && status < 400)
    return {
      type: 'retry',
      reason: `the target redirects (${status}), which is not followed`,
      afterMs: undefined,
    }
  return { type: 'dead', reason: `the target answered ${status}`, isGone: status === 410 }
}

function readAnswer({ body, contentType }: HttpAnswer): AnswerOutcome {
  if (body === undefined || body === '' || !/^application\/(?:[\w.-]+\+)?json\b/i.test(contentType))
    return { type: 'done' }
  const again = againOf(body)
  if (again === undefined) return { type: 'done' }
  try {
    parseDuration(again as Duration)
    return { type: 'again', in: again as Duration }
  } catch {
    return {
      type: 'retry',
      reason: 'the target asks for again at a time that cannot be read',
      afterMs: undefined,
    }
  }
}

function againOf(body: string): unknown {
  try {
    const answer: unknown = JSON.parse(body)
    if (typeof answer !== 'object' || answer === null || !('again' in answer)) return undefined
    const { again } = answer
    return typeof again === 'object' && again !== null && 'in' in again ? again.in : null
  } catch {
    return undefined
  }
}

/** Seconds, or a date of HTTP. */
function retryAfterMs({ retryAfter }: HttpAnswer, now: number): number | undefined {
  if (retryAfter === undefined) return undefined
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - now
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), MOST_RETRY_AFTER_MS)
}
